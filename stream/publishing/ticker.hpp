// SPDX-License-Identifier: Apache-2.0
// Runs the ticks. Ticker begins a tick when it is due or on request, takes the engine's result on
// the loop, has a worker encode the messages of a large tick, and sends them. If the engine
// has room, a tick begins before the last one's result has come. At most four ticks have begun and
// are not sent. ServerCore owns the ticker, and TickRequests calls advance().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/journal/records.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/tick_trace.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/recovered_ticks.hpp"
#include "starling/stream/publishing/tick_messages.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

class Journal;

struct TickerOptions {
  std::optional<std::int64_t> period_us;  ///< std::nullopt: ticks only on request
  std::int64_t tau_step_max_us = 0;       ///< see ServerOptions; 0: no limit
  unsigned encode_threads = 1;            ///< at least 1
  /// The server's log; null: the server has no log.
  Journal* journal = nullptr;
  PublishingHook publishing = [](const auto&, const auto&) {};
};

class Ticker {
 public:
  /// `trace` may be null.
  Ticker(Executor& executor, const TickerOptions& options, Tables& tables, Publisher& publisher,
         Results& results, Metrics& metrics, TickTrace* trace);
  /// The loop must not run after the destruction.
  ~Ticker();

  /// From now on, begins one tick each period. With manual ticks, does nothing.
  void start();

  enum class Begun : std::uint8_t { begun, busy, tau_too_early, tau_too_late };
  /// Begins a tick at `tau_us`, on request. `mark` names the request in the log; the ticker adds
  /// the tick and its time. `finished` is called only if the tick begins, and in the order of
  /// ticks.
  Begun advance(std::int64_t tau_us, const TickBegunRecord& mark, TickFinished finished);

  /// Returns the number of finished ticks whose messages were not passed to the results socket yet.
  std::size_t publishing_count() const;
  /// Returns why the last tick failed; empty if the tick did not fail.
  const std::string& last_error() const;

  /// Runs the ticks of the log when a server starts with it. Sends no message. Nothing else may use
  /// the ticker until RecoveredTicks::end.
  RecoveredTicks& recovered_ticks();

  /// Begins no further tick. Calls `idle` when all ticks that have begun are published, which may
  /// be at once.
  void stop(std::function<void()> idle);

 private:
  class State;
  std::optional<std::int64_t> period_us_;
  std::int64_t tau_step_max_us_;
  std::shared_ptr<State> state_;
};

}  // namespace starling::stream
