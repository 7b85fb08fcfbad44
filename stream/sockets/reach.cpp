// SPDX-License-Identifier: Apache-2.0
// Resolves hosts and interfaces like ZeroMQ when it binds: see reach.hpp.
#include "starling/stream/sockets/reach.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace starling::stream {

namespace {

constexpr std::uint32_t loopback_net = 127;
constexpr std::string_view tcp = "tcp://";

bool is_loopback(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return address.s6_addr[12] == loopback_net;
  return IN6_IS_ADDR_LOOPBACK(&address);
}

/// Returns the reach of all addresses of the interface together. Returns std::nullopt if the
/// machine has no such interface, or if the interface has no address.
std::optional<Reach> reach_of_interface(const std::string& name) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  std::optional<Reach> reach;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (name != each->ifa_name || each->ifa_addr == nullptr) continue;
    const auto family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (reach != Reach::network) reach = reach_of(*each->ifa_addr);
  }
  return reach;
}

std::optional<Reach> reach_of_host(std::string host) {
  if (host == "*") return Reach::network;
  if (host == "localhost") return Reach::machine;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  // Like ZeroMQ, getaddrinfo also reads short numbers: 0 is every address, and 127.1 is 127.0.0.1.
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return reach_of_interface(host);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  return reach_of(*found->ai_addr);
}

}  // namespace

Reach reach_of(const sockaddr& address) {
  bool is_local = false;
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    is_local = ntohl(v4.sin_addr.s_addr) >> 24 == loopback_net;
  } else if (address.sa_family == AF_INET6) {
    is_local = is_loopback(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  return is_local ? Reach::machine : Reach::network;
}

std::optional<Reach> reach_of(std::string_view endpoint) {
  if (endpoint.starts_with("ipc://") || endpoint.starts_with("inproc://")) return Reach::machine;
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(tcp) || colon < tcp.size()) return std::nullopt;
  return reach_of_host(std::string(endpoint.substr(tcp.size(), colon - tcp.size())));
}

void check_reach(Reach reach, Reach allowed) {
  if (reach == Reach::machine || allowed == Reach::network) return;
  throw std::runtime_error(
      "other machines could reach it, and it has neither authentication nor encryption; make keys "
      "with starling keygen and give the server --keys (for HTTP, --tls-cert and --tls-key too), "
      "use 127.0.0.1, or add --insecure if you trust every machine on the network");
}

std::string fault_of_reach(std::string_view endpoint, Reach allowed) {
  try {
    if (const auto reach = reach_of(endpoint)) check_reach(*reach, allowed);
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace starling::stream
