// A subscription over sockets: a SUB socket for ticks and a Client for snapshots and reports. It
// survives a server's restart. For one thread, which calls poll; `starling subscribe` and tests do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/subscription.hpp"

namespace starling::protocol {

struct SubscriberOptions {
  std::string results = "tcp://127.0.0.1:7412";
  ClientOptions client{};
  SubscriptionOptions subscription{};
  int receive_hwm = 64;  ///< ticks waiting to be read, before they are dropped
  std::int64_t report_interval_ms = 1000;
  std::int64_t retry_interval_ms = 250;  ///< between two tries for a snapshot
};

class Subscriber {
 public:
  /// Subscribes, then says hello; throws as Client does.
  Subscriber(zmq::context_t& context, SubscriberOptions options,
             SubscriptionHandlers handlers = {});
  ~Subscriber();

  /// Waits for a tick, at most `timeout_ms` long, and takes in all that have come; takes a snapshot
  /// and sends a report where due. Handlers run inside. False if no tick came.
  bool poll(std::int64_t timeout_ms);

  /// For who knows by another way, TickDone say, that a tick has passed which does not come: the
  /// next poll takes a snapshot, that tick or a later one. Without this only the tick after it
  /// shows the gap.
  void miss_tick();

  const SubscriptionState& state() const;
  /// The server's terms as of the last hello.
  const HelloReply& server() const;

  /// Why there is no snapshot yet, or empty: the stream is unknown, the server does not answer.
  const std::string& obstacle() const;

 private:
  class Sockets;
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace starling::protocol
