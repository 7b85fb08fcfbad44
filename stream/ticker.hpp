// SPDX-License-Identifier: Apache-2.0
// Runs the ticks: begins them by the wall clock or on request, takes the engine's results on the
// loop, and has them encoded and published. At most one tick is computed at a time, and at most two
// finished ticks wait to be sent. Server owns the ticker; RequestHandler calls advance().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/metrics.hpp"
#include "starling/stream/publisher.hpp"
#include "starling/stream/sockets/results_socket.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

struct TickerOptions {
  std::optional<std::int64_t> period_us;      ///< std::nullopt: ticks only on request
  std::optional<std::int64_t> future_max_us;  ///< std::nullopt: no limit
  std::function<std::int64_t()> wall_now_us;  ///< called on the loop
  unsigned encode_threads = 1;
};

struct TickOutcome {
  protocol::TickDone done;
  std::string error;  ///< if not empty, the engine failed and the old lists stay valid
};

class Ticker {
 public:
  Ticker(boost::asio::io_context& loop, const TickerOptions& options, Processor& processor,
         const ServedSpace& space, Publisher& publisher, ResultsSocket& results, Metrics& metrics);
  /// The loop must not run afterwards.
  ~Ticker();

  /// Begins one tick each period from now on. Does nothing with manual ticks.
  void start();

  bool is_manual() const;

  /// Called when the results socket has the tick's messages.
  using Finished = std::function<void(const TickOutcome&)>;
  enum class Begun : std::uint8_t { begun, busy, tau_too_early };
  /// Begins a tick at `tau_us`, on request. `finished` is called only if the tick begins.
  Begun advance(std::int64_t tau_us, Finished finished);

  /// The time from which leases count. With wall-clock ticks it is the wall clock, or tau of the
  /// last tick if the wall clock was set back to before that tau. With manual ticks it is tau of
  /// the last tick, or std::nullopt before the first tick.
  std::optional<std::int64_t> base_time_us() const;
  /// The latest event time that a row may have now.
  std::int64_t event_time_max_us() const;

  /// The number of finished ticks whose messages the results socket does not have yet.
  std::size_t publishing_count() const;
  /// Memory of the engine's state and index after the last tick.
  std::uint64_t engine_bytes() const;
  /// The error of the last tick; empty if it did not fail.
  const std::string& last_error() const;

  /// Begins no further tick. Calls `idle` once the tick under way is published, or at once if there
  /// is none.
  void stop(std::function<void()> idle);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace starling::stream
