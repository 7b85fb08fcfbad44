// SPDX-License-Identifier: Apache-2.0
// Reads from libzmq's monitor why a socket does not reach its server. libzmq reports the reason
// nowhere else, and without it a caller could only wait for its timeout. Private to connection.cpp.
#pragma once

#include <chrono>
#include <cstdint>

#include <zmq.hpp>

namespace starling::protocol {

class HandshakeWatch {
 public:
  enum class Seen : std::uint8_t {
    nothing,          ///< the time is over
    message,          ///< the socket has a message
    key_refused,      ///< the server does not know the client's key
    other_mechanism,  ///< only the client or only the server has a key
    cut,              ///< the connection ended within the handshake; libzmq connects again
    unreachable,      ///< the connection was refused, or the name is unknown; libzmq tries again
    other_socket,     ///< a socket of another type listens there; libzmq does not try again
  };

  HandshakeWatch() = default;
  /// Calls stop(). The watched socket must still be open.
  ~HandshakeWatch() { stop(); }
  HandshakeWatch(const HandshakeWatch&) = delete;
  HandshakeWatch& operator=(const HandshakeWatch&) = delete;

  /// Call before the socket connects. The context must outlive the watch.
  void start(zmq::context_t& context, zmq::socket_t& socket);
  /// Ends the monitoring. Call it before the watched socket closes: libzmq reports a failed
  /// handshake with a blocking send, and if the report is never received, that send never returns.
  /// wait() may still be called.
  void stop();

  /// Waits for a message or for the next failure to connect.
  Seen wait(zmq::socket_t& socket, std::chrono::steady_clock::time_point until);

 private:
  Seen next_failure();

  void* watched_ = nullptr;  ///< the socket; valid while events_ is open
  zmq::socket_t events_;
  bool is_lost_ = false;     ///< the last connection has ended, and libzmq has not tried again yet
  bool is_shaking_ = false;  ///< connected, and the handshake has neither failed nor succeeded
};

}  // namespace starling::protocol
