// SPDX-License-Identifier: Apache-2.0
// Lets a Boost.Asio loop wait for a ZeroMQ socket. The socket's descriptor, ZMQ_FD, is
// edge-triggered: it becomes readable when the state of the socket may have changed. Any call on
// the socket may consume this edge. Therefore ZmqWatch reads ZMQ_EVENTS after each edge, and after
// each call that its owner reports with check_soon(). It then drains the socket until it is empty.
// CommandSocket and ResultsSocket each own a ZmqWatch, and ConnectionLimit owns one for its events.
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
  /// A function that the watch calls on the loop when the socket has messages to receive. The
  /// function receives a limited number of them, and returns true if it reached its own limit
  /// before the socket was empty. The watch then posts another call, so that timers and other
  /// sockets get their turn between the two calls.
  using Drain = std::function<bool()>;

  /// The loop must not run after the watch or the socket is destroyed.
  ZmqWatch(boost::asio::io_context& loop, zmq::socket_t& socket, Drain drain);
  ~ZmqWatch();

  /// Makes the loop read ZMQ_EVENTS soon, and call `drain` if messages wait. Call check_soon()
  /// after every call on the socket outside `drain`. Call check_soon() also if `drain` returned
  /// false although messages wait, and can now go on.
  void check_soon();

  /// Ends the watch: `drain` is not called again.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
