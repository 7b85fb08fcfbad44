// SPDX-License-Identifier: Apache-2.0
// Lets a Boost.Asio loop wait for a ZeroMQ socket. The socket's descriptor, ZMQ_FD, is
// edge-triggered: it becomes readable when the state of the socket may have changed, and any call
// on the socket may consume that edge. Therefore the watch reads ZMQ_EVENTS after each edge and
// each call, and drains the socket until it is empty. CommandSocket and ResultsSocket each own a
// watch, and ConnectionLimit owns one for its events.
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
  /// Called on the loop when the socket has something to receive. The function receives what fits
  /// in one turn, and returns true if it stopped before the socket was empty. The watch then calls
  /// the function again, after the loop has had a turn for timers and other sockets.
  using Drain = std::function<bool()>;

  /// The loop must not run after the watch or the socket is destroyed.
  ZmqWatch(boost::asio::io_context& loop, zmq::socket_t& socket, Drain drain);
  ~ZmqWatch();

  /// Reads ZMQ_EVENTS at the loop's next turn. Call check_soon() after every send, and to continue
  /// after `drain` has paused.
  void check_soon();

  /// Makes no further call of `drain`.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
