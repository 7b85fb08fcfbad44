// A running server whose ticks are on request, as those use it who bring objects and queries into
// it and follow one of its streams in lock step: ServerTarget for replays, city::ServerFleetIndex
// for simulations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "protocol/client/client.hpp"
#include "protocol/client/subscriber.hpp"

namespace starling::sim {

struct ManualServerOptions {
  std::string commands = "tcp://127.0.0.1:7411";
  std::string results = "tcp://127.0.0.1:7412";
  std::int64_t connect_timeout_ms = 5'000;  ///< until the server answers, and until it is joined
  std::int64_t missed_after_ms = 1'000;     ///< a finished tick's lists not here: take a snapshot
};

class ManualServer {
 public:
  /// Bytes of a row and of a query on the wire at most, and some of the frame.
  static constexpr std::size_t row_bytes = 48;
  static constexpr std::size_t query_bytes = 192;

  /// Connects for `purpose`, "replay" or "simulation". Throws UsageError if the server ticks by
  /// itself, else as Client does.
  ManualServer(zmq::context_t& context, const ManualServerOptions& options,
               const std::string& purpose);

  protocol::Client& client() { return client_; }
  const protocol::HelloReply& terms() const { return client_.server(); }

  /// Rows of so many bytes that a request may have, by all of the server's limits; one at least.
  std::size_t batch_rows_max(std::size_t bytes_per_row) const;

  /// Throws RefusedError if the request cannot be sent.
  template <class Request>
  void post(const Request& request) {
    if (const auto problem = client_.post(request)) throw protocol::RefusedError(*problem);
  }

  /// Waits until what was posted is answered. Throws RefusedError, or std::runtime_error if the
  /// server rejects rows or finds them late, which says why; `what` they are, such as "positions".
  void expect_all_accepted(const std::string& what);

  /// Joins a stream; once. Its snapshot has come when this returns. Throws std::runtime_error if it
  /// does not come.
  void follow(const protocol::SubscriptionOptions& subscription,
              const protocol::SubscriptionHandlers& handlers);
  /// Of the stream that is followed.
  const protocol::SubscriptionState& state() const { return subscriber_->state(); }

  /// Waits for the lists of a finished tick. If they do not come by themselves, calls `missed` and
  /// takes a snapshot. Throws std::runtime_error if that does not help.
  void await_lists(
      Tick tick, const std::function<void()>& missed = [] {});

 private:
  double joined_count();
  void wait_until(const std::function<bool()>& done, const std::string& what,
                  std::int64_t timeout_ms);

  zmq::context_t& context_;
  ManualServerOptions options_;
  protocol::ClientOptions client_options_;
  protocol::Client client_;
  std::optional<protocol::Subscriber> subscriber_;
};

}  // namespace starling::sim
