// SPDX-License-Identifier: Apache-2.0
// Binds a ZeroMQ socket, and says how an endpoint is written where it is not. CommandSocket and
// ResultsSocket call it.
#pragma once

#include <string>

namespace zmq {
class socket_t;
}

namespace starling::stream {

/// Returns the endpoint as bound, with the port that the system chose. The host may also be
/// localhost, which ZeroMQ binds only as a number. Throws std::runtime_error with the end of a
/// sentence: how to write an endpoint, or what the system says.
std::string bind_endpoint(zmq::socket_t& socket, const std::string& endpoint);

}  // namespace starling::stream
