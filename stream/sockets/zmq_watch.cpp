// SPDX-License-Identifier: Apache-2.0
// Waits for an edge of ZeroMQ's descriptor, and reads ZMQ_EVENTS before each call of `drain`: see
// zmq_watch.hpp.
#include "starling/stream/sockets/zmq_watch.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <zmq.hpp>

#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::stream {

namespace asio = boost::asio;

struct ZmqWatch::State {
  State(asio::io_context& the_loop, zmq::socket_t& the_socket, Drain the_drain)
      : loop(the_loop),
        socket(the_socket),
        drain(std::move(the_drain)),
        descriptor(the_loop, socket.get(zmq::sockopt::fd)) {}

  void wait_for_edge() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this](const boost::system::error_code& error) {
                            if (error || stopped) return;
                            turn();
                            wait_for_edge();
                          });
  }

  void turn_soon() {
    if (turn_posted || stopped) return;
    turn_posted = true;
    asio::post(loop, [this] {
      turn_posted = false;
      if (!stopped) turn();
    });
  }

  void turn() {
    const int events = protocol::uninterrupted([&] { return socket.get(zmq::sockopt::events); });
    if ((events & ZMQ_POLLIN) == 0) return;
    if (drain()) turn_soon();
  }

  asio::io_context& loop;
  zmq::socket_t& socket;
  Drain drain;
  asio::posix::stream_descriptor descriptor;
  bool turn_posted = false;
  bool stopped = false;
};

ZmqWatch::ZmqWatch(asio::io_context& loop, zmq::socket_t& socket, Drain drain)
    : state_(std::make_unique<State>(loop, socket, std::move(drain))) {
  state_->wait_for_edge();
  state_->turn_soon();
}

// Releases the descriptor without closing it: ZeroMQ owns it and closes it with the socket.
ZmqWatch::~ZmqWatch() {
  state_->descriptor.release();
}

void ZmqWatch::check_soon() {
  state_->turn_soon();
}

void ZmqWatch::stop() {
  state_->stopped = true;
}

}  // namespace starling::stream
