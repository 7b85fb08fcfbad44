// SPDX-License-Identifier: Apache-2.0
// Connects a ZeroMQ socket to an endpoint that a user typed, with the user's key. Included by the
// client's .cpp files that own sockets.
#pragma once

#include <optional>
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

/// Encrypts what the socket sends and receives, if there is a key. Call before connect_to(). Throws
/// KeyError if the key names no server, or libzmq cannot encrypt.
inline void use_key(zmq::socket_t& socket, const std::optional<KeyPair>& key) {
  if (!key) return;
  if (!key->server_key)
    throw KeyError("The key \"" + key->name +
                   "\" names no server; give the server's public key with --server-key, or write "
                   "it into the key file as server = \"...\".");
  try {
    socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(*key->server_key));
    socket.set(zmq::sockopt::curve_publickey, zmq::buffer(key->public_key));
    socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(key->secret_key));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINVAL) throw;
    throw KeyError("This libzmq cannot encrypt; install one that was built with libsodium.");
  }
}

}  // namespace starling::protocol
