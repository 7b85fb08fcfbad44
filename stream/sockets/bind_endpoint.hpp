// SPDX-License-Identifier: Apache-2.0
// Binds a ZeroMQ socket to an endpoint. CommandSocket and ResultsSocket call bind_endpoint.
#pragma once

#include <string>

#include "starling/stream/sockets/reach.hpp"

namespace zmq {
class socket_t;
}

namespace starling::stream {

/// Binds the socket, if the endpoint's reach is `allowed`. Returns the bound endpoint; if the port
/// of `endpoint` is *, the result has the port that the system chose. The host may also be
/// localhost, although ZeroMQ itself accepts only a numeric address. Throws std::runtime_error if
/// the socket cannot be bound. The exception's text is the end of a sentence: how to write an
/// endpoint, if `endpoint` is malformed, what to do about its reach, or else the system's message.
std::string bind_endpoint(zmq::socket_t& socket, const std::string& endpoint, Reach allowed);

/// Returns how to write an endpoint if `endpoint` is malformed, and an empty text if it is not.
/// Binds nothing, so the address may still be in use, or not be one of this machine.
std::string fault_of_endpoint(const std::string& endpoint);

}  // namespace starling::stream
