// SPDX-License-Identifier: Apache-2.0
// Reads from libzmq's monitor why a socket does not reach its server. libzmq reports the reason
// nowhere else, and without it a caller could only wait for its timeout. Also notices a message
// that never ends: libzmq keeps the frames of a message until the last one has come, and has no
// limit for them. Private to connection.cpp and subscriber.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

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
    endless,  ///< more bytes have come than a message may have, and no message; close the socket
  };

  /// `message_bytes_max`: the most bytes that may come while no message comes.
  explicit HandshakeWatch(std::uint64_t message_bytes_max)
      : message_bytes_max_(message_bytes_max) {}
  /// Calls stop(). The watched socket must still be open.
  ~HandshakeWatch() { stop(); }
  HandshakeWatch(const HandshakeWatch&) = delete;
  HandshakeWatch& operator=(const HandshakeWatch&) = delete;

  /// Call before the socket connects. The context must outlive the watch.
  void start(zmq::context_t& context, zmq::socket_t& socket);
  /// Ends the monitoring. Call it before the watched socket closes. wait() may still be called.
  void stop();
  /// Until the next start(), wait() reports no failure to connect.
  void ignore_failures() { ignores_failures_ = true; }

  /// Waits for a message, for the next failure to connect, or for a message that never ends.
  Seen wait(zmq::socket_t& socket, std::chrono::steady_clock::time_point until);

 private:
  Seen next_failure();
  bool is_endless();

  void* watched_ = nullptr;  ///< the socket; valid while events_ is open
  zmq::socket_t events_;
  bool is_lost_ = false;     ///< the last connection has ended, and libzmq has not tried again yet
  bool is_shaking_ = false;  ///< connected, and the handshake has neither failed nor succeeded
  bool ignores_failures_ = false;
  std::uint64_t message_bytes_max_;
  int connection_ = -1;       ///< the descriptor of the last connection; libzmq owns it
  std::uint64_t cookie_ = 0;  ///< what the kernel calls that connection; 0: not known
  std::optional<std::uint64_t> bytes_before_{};  ///< received when the wait for a message began
};

}  // namespace starling::protocol
