// SPDX-License-Identifier: Apache-2.0
// A Subscriber follows one stream over sockets: a SUB socket receives ticks, and a Client fetches
// snapshots and sends reports. The Subscriber continues after a restart of the server. Use a
// Subscriber from one thread only; this thread calls poll(). `starling subscribe`, ManualServer,
// the benchmarks and the tests use this class.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/subscription.hpp"

namespace starling::protocol {

struct SubscriberOptions {
  /// The endpoint of the server's results. Empty: the endpoint that the server names, see
  /// results_of().
  std::string results{};
  ClientOptions client{};
  SubscriptionOptions subscription{};
  int receive_hwm = 64;  ///< ticks that may wait to be read; ZeroMQ drops further ticks
  std::int64_t report_interval_ms = 1000;
  std::int64_t retry_interval_ms = 250;  ///< pause between two attempts to fetch a snapshot
};

/// Returns the endpoint of a server's results for a client that has reached it at `commands`: the
/// port of `server.results` on the host of `commands`, or `server.results` itself if both endpoints
/// are socket files. A server that is older than `server.results` is expected at port 7412. Throws
/// EndpointError if the client cannot reach the endpoint, such as a socket file of another host.
std::string results_of(const HelloReply& server, const std::string& commands);

/// Keeps the lists of one stream up to date. examples/client.cpp is a complete program. A short
/// example:
///
///     Subscriber subscriber(context, {.subscription = {.stream = "riders"}});
///     while (subscriber.poll(/*timeout_ms=*/1000))
///       show(subscriber.state().lists());  // a map of (query, subject) to HeldList
class Subscriber {
 public:
  /// Subscribes and says hello. If `results` is empty, says hello first. Throws what Client's
  /// constructor throws, and what results_of() throws if `results` is empty. The context must
  /// outlive the subscriber.
  Subscriber(zmq::context_t& context, SubscriberOptions options,
             SubscriptionHandlers handlers = {});
  ~Subscriber();

  /// Waits at most `timeout_ms` for a tick and takes in all ticks that have arrived. Also fetches a
  /// snapshot if one is needed, and sends a report if one is due. The handlers run inside this
  /// call. Returns false if no tick arrived.
  bool poll(std::int64_t timeout_ms);

  /// Call this if you know, for example from TickDone, that a tick has passed whose message has not
  /// arrived. The next poll() then fetches a snapshot of that tick or of a later tick. Without this
  /// call, the subscriber notices the gap only when the message of the next tick arrives.
  void miss_tick();

  const SubscriptionState& state() const;
  /// Returns the server's reply to the last hello.
  const HelloReply& server() const;

  /// Returns why the last request to the server failed, for example because the stream is unknown
  /// or the server does not answer. If there is no snapshot yet, the text says why. If the server's
  /// messages do not come, the text names the endpoint. Returns an empty text if all is well.
  const std::string& obstacle() const;
  /// Returns the code of the refusal if the obstacle is a refusal by the server; else
  /// ErrorCode::none. Waiting does not help against not_allowed: the server's keys file must
  /// change.
  ErrorCode obstacle_code() const;

 private:
  class Sockets;
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace starling::protocol
