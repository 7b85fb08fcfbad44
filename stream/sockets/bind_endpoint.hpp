// SPDX-License-Identifier: Apache-2.0
// Binds a ZeroMQ socket. If the endpoint is malformed, the error says how to write one.
// CommandSocket and ResultsSocket call it.
#pragma once

#include <string>

namespace zmq {
class socket_t;
}

namespace starling::stream {

/// Binds the socket. Returns the bound endpoint, with the port that the system chose. Also accepts
/// localhost as the host, although ZeroMQ itself accepts only a numeric address. Throws
/// std::runtime_error, whose text is the end of a sentence: how to write an endpoint, or the
/// system's message.
std::string bind_endpoint(zmq::socket_t& socket, const std::string& endpoint);

}  // namespace starling::stream
