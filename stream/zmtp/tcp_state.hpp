// SPDX-License-Identifier: Apache-2.0
// Options of a connection's socket, and what the kernel knows about its peer. Connection uses them.
#pragma once

#include <cstdint>

namespace starling::stream::zmtp {

/// Sends small messages at once, and lets the kernel notice a peer that has vanished. Does nothing
/// for sockets other than TCP's.
void set_tcp_options(int descriptor);

/// Returns true if the peer's kernel has not acknowledged anything for `period_us` although it
/// should have. A peer that acknowledges but does not read has not vanished.
bool is_peer_gone(int descriptor, std::int64_t period_us);

/// Returns true if the connection was reset, or the kernel has given it up. Returns false if the
/// peer has only closed its end, so that its bytes may still be read.
bool is_reset(int descriptor);

/// Returns the number of bytes that the peer's kernel has not acknowledged.
int unacknowledged_bytes(int descriptor);

}  // namespace starling::stream::zmtp
