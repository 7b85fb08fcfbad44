// SPDX-License-Identifier: Apache-2.0
// Functions that wait for ZeroMQ messages and receive them. They repeat a ZeroMQ call that a signal
// has interrupted. The .cpp files that own sockets include this header.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>

#include <zmq.hpp>

#include "starling/protocol/wire/frame.hpp"

namespace starling::protocol {

/// Returns the bytes of a message for decoding. The message must outlive the result.
inline AlignedBytes to_aligned(const zmq::message_t& message) {
  return AlignedBytes({static_cast<const std::byte*>(message.data()), message.size()});
}

/// Calls `call`, and repeats the call while signals interrupt it.
template <class Call>
auto uninterrupted(const Call& call) {
  while (true) {
    try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

/// Waits until a message can be received. Returns false if no message comes before `until`.
inline bool wait_until_readable(zmq::socket_t& socket,
                                std::chrono::steady_clock::time_point until) {
  return uninterrupted([&] {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
    return zmq::poll(&item, 1, std::max(left, milliseconds(0))) > 0;
  });
}

/// Receives the next frame without waiting. Returns false if no frame has arrived.
inline bool receive_now(zmq::socket_t& socket, zmq::message_t& frame) {
  return uninterrupted([&] { return socket.recv(frame, zmq::recv_flags::dontwait).has_value(); });
}

}  // namespace starling::protocol
