// SPDX-License-Identifier: Apache-2.0
// Maps IPv4 addresses, and cuts IPv6 addresses: see peer_address.hpp.
#include "starling/stream/turns/peer_address.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace starling::stream {

namespace {

constexpr std::size_t network_bytes = 8;

PeerAddress mapped(const in_addr& address) {
  PeerAddress mapped;
  mapped.bytes[10] = mapped.bytes[11] = 0xff;
  std::memcpy(&mapped.bytes[12], &address, sizeof(address));
  return mapped;
}

PeerAddress cut(const in6_addr& address) {
  PeerAddress cut;
  const bool is_whole = IN6_IS_ADDR_V4MAPPED(&address) || IN6_IS_ADDR_LOOPBACK(&address);
  std::memcpy(cut.bytes.data(), &address, is_whole ? sizeof(address) : network_bytes);
  return cut;
}

}  // namespace

PeerAddress address_of(const sockaddr_storage& socket_address) {
  if (socket_address.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &socket_address, sizeof(address));
    return mapped(address.sin_addr);
  }
  if (socket_address.ss_family != AF_INET6) return {};
  sockaddr_in6 address{};
  std::memcpy(&address, &socket_address, sizeof(address));
  return cut(address.sin6_addr);
}

PeerAddress address_of(std::string_view text) {
  const std::string terminated(text);
  in_addr four{};
  if (::inet_pton(AF_INET, terminated.c_str(), &four) == 1) return mapped(four);
  in6_addr six{};
  if (::inet_pton(AF_INET6, terminated.c_str(), &six) == 1) return cut(six);
  return {};
}

}  // namespace starling::stream
