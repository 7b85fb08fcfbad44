// SPDX-License-Identifier: Apache-2.0
// Opens the connections of readers: of events over HTTP, and of views over WebSockets.
// EventReaders and ViewReader call these functions.
#pragma once

#include <string>
#include <string_view>

#include "starling/protocol/wire/socket_codec.hpp"

namespace starling::bench {

/// Connects to `endpoint`, sends the request, and waits until the answer has `awaited`. Returns the
/// socket, which the caller closes. Throws std::runtime_error if the server refuses the request.
int open_reader(const std::string& endpoint, const std::string& request, std::string_view awaited);

/// Opens a WebSocket and requests the view, with request number 1. The caller reads everything
/// after the head of the answer.
int open_view(const std::string& endpoint, const protocol::View& view);

/// Sends a message of at most 125 bytes in one frame. `first_byte` has the kind of the frame.
void send_frame(int socket, unsigned char first_byte, std::string_view message);

}  // namespace starling::bench
