// SPDX-License-Identifier: Apache-2.0
// Lets a Boost.Asio loop wait for a ZeroMQ socket. ZMQ_FD is edge-triggered: it becomes readable
// when the socket's state may have changed, and any call on the socket may swallow that edge; so
// after each edge and each call ZMQ_EVENTS is asked, and the socket is drained until it is empty.
// CommandSocket and ResultsSocket own one each.
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}
namespace zmq {
class socket_t;
}

namespace starling::stream {

class ZmqWatch {
 public:
  /// Called on the loop when the socket has something to receive. Takes one turn's worth, and
  /// returns true if it stopped before the socket was empty; it is called again after the loop has
  /// had a turn for timers and other sockets.
  using Drain = std::function<bool()>;

  /// The loop must not run after the watch or the socket is gone.
  ZmqWatch(boost::asio::io_context& loop, zmq::socket_t& socket, Drain drain);
  ~ZmqWatch();

  /// Call after every send, and after pausing a drain: looks at ZMQ_EVENTS on the loop's next turn.
  void check_soon();

  /// No call of `drain` comes after this.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
