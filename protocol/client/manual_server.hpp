// SPDX-License-Identifier: Apache-2.0
// Connects to a server in manual-tick mode, sends it objects and queries, and follows one stream in
// lock step. sim::ServerHost uses this class for replays and simulations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/result.hpp"
#include "starling/protocol/client/subscriber.hpp"
#include "starling/protocol/client/subscription.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

struct ManualServerOptions {
  std::string commands = "tcp://127.0.0.1:7411";
  std::string results{};         ///< see SubscriberOptions
  std::optional<KeyPair> key{};  ///< see ClientOptions
  /// Longest wait for the server's first reply, and later for the subscription to reach the server.
  std::int64_t connect_timeout_ms = 5'000;
  /// If the lists of a tick take longer than this, the tick counts as missed.
  std::int64_t missed_after_ms = 1'000;
};

/// Thrown if the server ticks by itself.
class NotManualError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ManualServer {
 public:
  /// Upper bounds of the bytes that a row or a query takes on the wire. Each bound includes a share
  /// of the bytes that the frame adds.
  static constexpr std::size_t row_bytes = 48;
  static constexpr std::size_t query_bytes = 192;

  /// Connects. `purpose`, "replay" or "simulation", names this program to the server and in errors.
  /// Throws NotManualError, and whatever Client throws.
  ManualServer(zmq::context_t& context, const ManualServerOptions& options,
               const std::string& purpose);

  Client& client() { return client_; }
  const HelloReply& terms() const { return client_.server(); }

  /// Returns the most rows that the server's limits allow in one request if each row takes
  /// `bytes_per_row` bytes. Returns at least 1.
  std::size_t batch_rows_max(std::size_t bytes_per_row) const;

  /// Sends a request without waiting for its answer. Throws RefusedError if the request cannot be
  /// sent.
  template <class Request>
  void post(const Request& request) {
    if (const auto problem = client_.post(request)) throw RefusedError(*problem);
  }

  /// Waits until all posted requests are answered. Throws RefusedError if the server refused a
  /// request. Throws std::runtime_error with the reason if the server rejected rows, or dropped
  /// rows as late. `what` names the rows in the error, for example "positions".
  void expect_all_accepted(const std::string& what);

  /// Subscribes to a stream and waits for its snapshot. Call at most once. Throws
  /// std::runtime_error if the snapshot does not arrive in time.
  void follow(const SubscriptionOptions& subscription, const SubscriptionHandlers& handlers);
  /// The state of the followed stream. Call only after follow().
  const SubscriptionState& state() const { return subscriber_->state(); }

  /// Waits until state() holds the lists of `tick`, which the server has finished. If the lists do
  /// not arrive within missed_after_ms, calls `missed` and takes a snapshot. Throws
  /// std::runtime_error if the snapshot does not arrive.
  void await_lists(
      Tick tick, const std::function<void()>& missed = [] {});

 private:
  double joined_count();
  void wait_until(const std::function<bool()>& done, const std::string& what,
                  std::int64_t timeout_ms);

  zmq::context_t& context_;
  ManualServerOptions options_;
  ClientOptions client_options_;
  Client client_;
  std::optional<Subscriber> subscriber_;
};

}  // namespace starling::protocol
