// SPDX-License-Identifier: Apache-2.0
// Connects a ZeroMQ socket to an endpoint that a user typed. Included by the client's .cpp files
// that own sockets.
#pragma once

#include <string>

#include <zmq.hpp>

#include "starling/protocol/client/client.hpp"

namespace starling::protocol {

/// Throws EndpointError, or zmq::error_t if the context was shut down.
inline void connect_to(zmq::socket_t& socket, const std::string& endpoint) {
  try {
    socket.connect(endpoint);
  } catch (const zmq::error_t& error) {
    if (error.num() == ETERM) throw;
    throw EndpointError(endpoint, error.what());
  }
}

}  // namespace starling::protocol
