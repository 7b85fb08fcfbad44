// SPDX-License-Identifier: Apache-2.0
// What an operator sees of ticks: metrics, the trace, and sentences in the log about ticks that
// failed or were skipped. Ticker owns it and passes it to its parts.
#pragma once

#include <cstdint>
#include <string>

#include "starling/knn/tables/processor.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/tick_trace.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/state/overrun_log.hpp"

namespace starling::stream {

/// Only the loop calls the functions. All times are of the steady clock, in microseconds.
class TickWatch {
 public:
  /// `trace` may be null. `period_us` is the time between two ticks; 0: ticks only on request.
  TickWatch(Executor& executor, Metrics& metrics, TickTrace* trace, std::int64_t period_us)
      : executor_(executor), metrics_(metrics), trace_(trace), overrun_log_(period_us) {}

  /// The ticks that were due when the timer of the schedule expired.
  struct Due {
    bool begins = false;        ///< one of them begins now
    std::uint64_t skipped = 0;  ///< number of due ticks that do not begin
    std::uint64_t missed = 0;   ///< number of skipped ticks that the late timer explains
    std::int64_t late_us = 0;   ///< time by which the timer was late
    bool is_stalled = false;    ///< the system did not run the server for most of late_us
    bool is_log_full = false;   ///< the log's disk is full, so no tick counts as skipped
  };
  void due(const Due& due);

  /// Call it when the engine's result was taken. Writes the tick's warning and error to the log.
  void finished(const TickReport& report, std::int64_t begun_us, std::int64_t arrived_us);
  /// Call it when the messages, `bytes` bytes in all, were passed to the results socket.
  void published(const TickTimeline& timeline, std::uint64_t bytes);
  void failed(Tick tick, const std::string& error);

  /// Why the last tick failed; empty if it did not fail.
  const std::string& last_error() const { return last_error_; }

 private:
  Executor& executor_;
  Metrics& metrics_;
  TickTrace* trace_;
  OverrunLog overrun_log_;
  std::string last_error_;
};

}  // namespace starling::stream
