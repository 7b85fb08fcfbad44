// SPDX-License-Identifier: Apache-2.0
// Runs the ticks. Ticker begins a tick when it is due or on request, takes the engine's result on
// the loop, has a worker encode the messages of a large tick, and sends them. If the engine
// has room, a tick begins before the last one's result has come. At most four ticks have begun and
// are not sent. Server owns the ticker, and RequestHandler calls advance().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/executor/executor.hpp"
#include "starling/stream/metrics.hpp"
#include "starling/stream/output/tick_trace.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/tick_outcome.hpp"
#include "starling/stream/recovery/recovered_ticks.hpp"
#include "starling/stream/sockets/results.hpp"

namespace starling::stream {

class Journal;

struct TickerOptions {
  std::optional<std::int64_t> period_us;      ///< std::nullopt: ticks only on request
  std::optional<std::int64_t> future_max_us;  ///< see ServerOptions; std::nullopt: no limit
  std::int64_t tau_step_max_us = 0;           ///< see ServerOptions; 0: no limit
  std::function<std::int64_t()> boot_now_us;  ///< see ServerOptions; called on the loop
  std::function<std::int64_t()> wall_now_us;
  std::int64_t clock_step_wait_us = 0;
  unsigned encode_threads = 1;  ///< at least 1
  /// Called before the ticker changes the processor. Returns when nothing else uses it.
  std::function<void()> settle = [] {};
  /// Prepares the processor for a tick at `tau_us`, and then calls `ready`. Both may take several
  /// turns of the loop.
  std::function<void(std::int64_t tau_us, std::function<void()> ready)> prepare =
      [](std::int64_t, const std::function<void()>& ready) { ready(); };
  /// Calls `finish`, which lets the tables take a tick's result, when nothing changes them.
  std::function<void(std::function<void()> finish)> when_free = [](const auto& finish) {
    finish();
  };
  /// Returns whether all leases may be moved now.
  std::function<bool()> may_move_leases = [] { return true; };
  /// The server's log, or null: there is none.
  Journal* journal = nullptr;
  /// Called with the messages of each tick, one for each plan, before they are sent.
  std::function<void(const std::vector<StreamPlan>&, const std::vector<protocol::TickMessage>&)>
      publishing = [](const auto&, const auto&) {};
};

class Ticker {
 public:
  /// `trace` may be null.
  Ticker(Executor& executor, const TickerOptions& options, Processor& processor,
         const protocol::ServedSpace& space, Publisher& publisher, Results& results,
         Metrics& metrics, TickTrace* trace);
  /// The loop must not run after the destruction.
  ~Ticker();

  /// From now on, begins one tick each period. With manual ticks, does nothing.
  void start();

  bool is_manual() const;

  /// A function that is called after the tick's messages were passed to the results socket.
  using Finished = std::function<void(const TickOutcome&)>;
  enum class Begun : std::uint8_t { begun, busy, tau_too_early, tau_too_late };
  /// Begins a tick at `tau_us`, on request. `finished` is called only if the tick begins, and in
  /// the order of ticks.
  Begun advance(std::int64_t tau_us, Finished finished);

  /// Returns the time from which a lease that is put now counts. With wall-clock ticks, this is the
  /// time of the DisciplinedClock, but not less than tau of the last tick. With manual ticks, this
  /// is tau of the last tick, or std::nullopt before the first tick.
  std::optional<std::int64_t> base_time_us() const;
  /// Returns the time from which the step of the next requested tick counts: tau of the last tick,
  /// or before the first tick the wall clock's time.
  std::int64_t step_base_us() const;
  /// Returns the latest event time that a row may have now.
  std::int64_t event_time_max_us() const;

  /// Returns how often the wall clock was set, and by how many seconds it is ahead of the server's
  /// time now. With manual ticks, both are 0.
  std::uint64_t clock_steps() const;
  double clock_offset_s() const;

  /// Returns the number of finished ticks whose messages were not passed to the results socket yet.
  std::size_t publishing_count() const;
  /// Returns the memory, in bytes, of the engine's state and index after the last tick.
  std::uint64_t engine_bytes() const;
  /// Returns why the last tick failed; empty if the tick did not fail.
  const std::string& last_error() const;

  /// For a server that starts with what its log holds: runs the log's ticks, and sends no message.
  /// Nothing else may use the ticker until RecoveredTicks::end.
  RecoveredTicks& recovered_ticks();

  /// Begins no further tick. Calls `idle` when all ticks that have begun are published, which may
  /// be at once.
  void stop(std::function<void()> idle);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace starling::stream
