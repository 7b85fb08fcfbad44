// SPDX-License-Identifier: Apache-2.0
// Runs the ticks: when one begins, by the wall clock or on request; taking the engine's result on
// the loop; encoding and publishing it. At most one tick is computed and two wait to be sent. The
// server owns it; RequestHandler asks it to advance.
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
  std::optional<std::int64_t> period_us;      ///< none: ticks on request alone
  std::optional<std::int64_t> future_max_us;  ///< none: no limit
  std::function<std::int64_t()> wall_now_us;  ///< asked on the loop
  unsigned encode_threads = 1;
};

struct TickOutcome {
  protocol::TickDone done;
  std::string error;  ///< not empty: the engine failed, the old lists stand
};

class Ticker {
 public:
  Ticker(boost::asio::io_context& loop, const TickerOptions& options, Processor& processor,
         const ServedSpace& space, Publisher& publisher, ResultsSocket& results, Metrics& metrics);
  /// The loop must not run afterwards.
  ~Ticker();

  /// By the wall clock: from now on one tick a period.
  void start();

  bool is_manual() const;

  /// Called once the tick's messages are with the results socket.
  using Finished = std::function<void(const TickOutcome&)>;
  enum class Begun : std::uint8_t { begun, busy, tau_too_early };
  /// On request: a tick at `tau_us`.
  Begun advance(std::int64_t tau_us, Finished finished);

  /// The time that leases count from: the wall clock, held at the last tick's tau where it was set
  /// back; on request, that tau, if there was a tick.
  std::optional<std::int64_t> base_time_us() const;
  /// The latest event time that rows may have now.
  std::int64_t event_time_max_us() const;

  /// Finished ticks that are not with the results socket yet.
  std::size_t publishing_count() const;
  /// Memory of the engine's state and index after the last tick.
  std::uint64_t engine_bytes() const;
  /// What the last tick failed of, if it did.
  const std::string& last_error() const;

  /// No further tick begins; `idle` is called once the one under way is published.
  void stop(std::function<void()> idle);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace starling::stream
