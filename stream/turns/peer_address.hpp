// SPDX-License-Identifier: Apache-2.0
// The network address by which peers without a key are told apart.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include <sys/socket.h>

namespace starling::stream {

/// An IPv4 address is kept as IPv6 maps it (::ffff:a.b.c.d). Only the first 64
/// bits of any other IPv6 address are kept, because one machine may use all addresses that begin
/// with them. All
/// bytes are zero for a peer without a network address, such as one of an ipc:// endpoint.
struct PeerAddress {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const PeerAddress&) const = default;
};

PeerAddress address_of(const sockaddr_storage& socket_address);
/// `text` is an address without a port, such as "127.0.0.1" or "::1". Returns zeros for any other
/// text.
PeerAddress address_of(std::string_view text);

}  // namespace starling::stream
