// SPDX-License-Identifier: Apache-2.0
// Decides whether other machines can reach an endpoint. bind_endpoint and HttpServer refuse to
// listen on an endpoint that other machines can reach, unless keys (for HTTP, also TLS) protect it
// or the user allows it with --insecure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace starling::stream {

enum class Reach : std::uint8_t {
  machine,  ///< only programs on this machine can connect
  network,  ///< other machines may be able to connect
};

/// Only a loopback address has Reach::machine.
Reach reach_of(const sockaddr& address);

/// Returns the reach of a ZeroMQ endpoint. ipc:// and inproc:// stay on the machine. The host of
/// tcp:// is * (every address), a number, localhost, or the name of a network interface. All
/// addresses of an interface count. Returns std::nullopt if the endpoint is anything else.
std::optional<Reach> reach_of(std::string_view endpoint);

/// Throws std::runtime_error if `reach` is beyond `allowed`. The exception's text is the end of a
/// sentence that tells the user what to do.
void check_reach(Reach reach, Reach allowed);

/// Returns the text of check_reach's exception for a ZeroMQ endpoint; empty: the reach is allowed,
/// or reach_of() does not know the endpoint.
std::string fault_of_reach(std::string_view endpoint, Reach allowed);

}  // namespace starling::stream
