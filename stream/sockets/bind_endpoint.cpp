// SPDX-License-Identifier: Apache-2.0
// Accepts the same endpoints as ZeroMQ: tcp:// with a numeric address, an interface's name or *,
// and ipc:// with a path. See bind_endpoint.hpp.
#include "starling/stream/sockets/bind_endpoint.hpp"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/ip/address.hpp>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace starling::stream {

namespace {

constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::string_view ipc_scheme = "ipc://";
// ZeroMQ's backlog is 100, but more peers may connect at the same moment.
constexpr int backlog = 1024;

constexpr const char* endpoint_form =
    "write tcp://HOST:PORT, where HOST is a numeric address (127.0.0.1), localhost or * (every "
    "address of this machine), and PORT is a number or * (any free port)";

[[noreturn]] void refuse(int error) {
  throw std::runtime_error(std::generic_category().message(error));
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return text == "*" || (error == std::errc() && end == text.data() + text.size() && port <= 65535);
}

std::string without_brackets(std::string host) {
  if (host.starts_with('[') && host.ends_with(']')) return host.substr(1, host.size() - 2);
  return host;
}

bool is_host(std::string host) {
  if (host == "*" || host == "localhost" || if_nametoindex(host.c_str()) != 0) return true;
  boost::system::error_code error;
  boost::asio::ip::make_address(without_brackets(std::move(host)), error);
  return !error;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  Address() = default;
  Address(const sockaddr* address, socklen_t bytes) : size(bytes) {
    std::memcpy(&storage, address, bytes);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  void set_port(std::uint16_t port) {
    if (storage.ss_family == AF_INET6)
      reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
    else
      reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
  }
};

/// Returns the interface's first IPv4 address, which ZeroMQ takes, too.
Address address_of_interface(const std::string& name) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) refuse(errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next)
    if (name == each->ifa_name && each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET)
      return {each->ifa_addr, sizeof(sockaddr_in)};
  throw std::runtime_error(endpoint_form);
}

Address address_of_host(std::string host) {
  if (host == "localhost") host = "127.0.0.1";
  if (host == "*") host = "0.0.0.0";
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string number = without_brackets(host);
  if (getaddrinfo(number.c_str(), nullptr, &hints, &found) != 0) return address_of_interface(host);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  return {found->ai_addr, found->ai_addrlen};
}

std::string text_of(const Address& address) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(address.get(), address.size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    throw std::runtime_error("the system cannot say which address was bound");
  const bool is_v6 = address.storage.ss_family == AF_INET6;
  return std::string(tcp_scheme) + (is_v6 ? "[" : "") + host + (is_v6 ? "]:" : ":") + port;
}

Descriptor stream_socket(int domain) {
  Descriptor opened(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!opened.is_open()) refuse(errno);
  return opened;
}

void listen_on(const Descriptor& descriptor, const Address& address) {
  if (::bind(descriptor.number(), address.get(), address.size) != 0) refuse(errno);
  if (::listen(descriptor.number(), backlog) != 0) refuse(errno);
}

BoundEndpoint bind_tcp(std::string_view rest, Reach allowed) {
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) throw std::runtime_error(endpoint_form);
  const std::string_view port = rest.substr(colon + 1);
  if (!is_port(port)) throw std::runtime_error(endpoint_form);
  Address address = address_of_host(std::string(rest.substr(0, colon)));
  check_reach(reach_of(*address.get()), allowed);
  std::uint16_t number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  address.set_port(number);
  Descriptor descriptor = stream_socket(address.storage.ss_family);
  const int on = 1;
  ::setsockopt(descriptor.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  listen_on(descriptor, address);
  Address bound = address;
  if (::getsockname(descriptor.number(), bound.get(), &bound.size) != 0) refuse(errno);
  return {std::move(descriptor), text_of(bound), {}};
}

/// Removes the file of a socket that a dead server has left at `path`. ZeroMQ would remove any
/// file. This function removes only a socket on which no process listens.
void remove_stale_socket(const std::string& path, const Address& address) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return;
  const Descriptor probe = stream_socket(AF_UNIX);
  if (::connect(probe.number(), address.get(), address.size) != 0 && errno == ECONNREFUSED)
    ::unlink(path.c_str());
}

BoundEndpoint bind_ipc(const std::string& endpoint, std::string path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path == "*") throw std::runtime_error(endpoint_form);
  if (path.size() >= sizeof(name.sun_path)) refuse(ENAMETOOLONG);
  std::memcpy(name.sun_path, path.data(), path.size());
  std::size_t size = offsetof(sockaddr_un, sun_path) + path.size() + 1;
  const bool has_file = path.front() != '@';
  if (!has_file) {  // an abstract name of Linux: there is no file
    name.sun_path[0] = '\0';
    --size;
  }
  const Address address(reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(size));
  if (has_file) remove_stale_socket(path, address);
  Descriptor descriptor = stream_socket(AF_UNIX);
  listen_on(descriptor, address);
  return {std::move(descriptor), endpoint, has_file ? std::move(path) : std::string()};
}

}  // namespace

BoundEndpoint::~BoundEndpoint() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

BoundEndpoint bind_endpoint(const std::string& endpoint, Reach allowed) {
  if (const auto reach = reach_of(endpoint)) check_reach(*reach, allowed);
  if (endpoint.starts_with(tcp_scheme))
    return bind_tcp(endpoint.substr(tcp_scheme.size()), allowed);
  if (endpoint.starts_with(ipc_scheme))
    return bind_ipc(endpoint, endpoint.substr(ipc_scheme.size()));
  throw std::runtime_error(endpoint_form);
}

std::string fault_of_endpoint(const std::string& endpoint) {
  if (endpoint.starts_with(ipc_scheme) && endpoint.size() > ipc_scheme.size()) return {};
  const std::size_t colon = endpoint.rfind(':');
  const bool is_well_formed =
      endpoint.starts_with(tcp_scheme) && colon >= tcp_scheme.size() &&
      is_host(endpoint.substr(tcp_scheme.size(), colon - tcp_scheme.size())) &&
      is_port(std::string_view(endpoint).substr(colon + 1));
  return is_well_formed ? "" : endpoint_form;
}

}  // namespace starling::stream
