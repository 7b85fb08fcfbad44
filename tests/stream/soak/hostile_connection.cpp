// SPDX-License-Identifier: Apache-2.0
// Writes to and reads from a non-blocking socket: see hostile_connection.hpp.
#include "tests/stream/soak/hostile_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace starling::stream {

using test::Random;

namespace {

std::uint16_t port_of(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

}  // namespace

HostileConnection::HostileConnection(const Attacker& attacker, const std::string& endpoint,
                                     int receive_bytes)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      tally_(*attacker.tally) {
  const int on = 1;
  // The system chooses the port at connect(), so that a port may serve several connections.
  setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  if (receive_bytes > 0)
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  const sockaddr_in own = address_of(attacker.principal.address, 0);
  bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof(own));
  const sockaddr_in server = address_of("127.0.0.1", port_of(endpoint));
  connect(fd_, reinterpret_cast<const sockaddr*>(&server), sizeof(server));
}

HostileConnection::~HostileConnection() {
  close(fd_);
}

bool HostileConnection::send(std::string_view bytes) {
  if (!is_connected_) {
    sockaddr_in server{};
    socklen_t size = sizeof(server);
    is_connected_ = getpeername(fd_, reinterpret_cast<sockaddr*>(&server), &size) == 0;
    tally_.sent += is_connected_;
  }
  waiting_.append(bytes);
  const ssize_t count = ::send(fd_, waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
  if (count > 0) {
    waiting_.erase(0, static_cast<std::size_t>(count));
    ++tally_.sent;
  }
  return count >= 0 || errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS;
}

std::string HostileConnection::receive() {
  std::string bytes(65'536, '\0');
  const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (bytes.starts_with("HTTP/1.1 4") || bytes.starts_with("HTTP/1.1 5"))
    ++tally_.refused;
  else if (!bytes.empty())
    ++tally_.answered;
  return bytes;
}

void HostileConnection::half_close() {
  shutdown(fd_, SHUT_WR);
}

void HostileConnection::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

HostileStep in_pieces(const Attacker& attacker, const std::string& endpoint, std::string text,
                      std::size_t piece_max, int stays) {
  auto socket = std::make_shared<HostileConnection>(attacker, endpoint);
  return [=, text = std::move(text), at = std::size_t{0}, left = stays](Random& random) mutable {
    if (at < text.size()) {
      const std::size_t count =
          std::min<std::size_t>(1 + random.below(piece_max), text.size() - at);
      const bool is_open = socket->send(std::string_view(text).substr(at, count));
      at += count;
      return is_open;
    }
    if (left == stays && random.chance(0.1)) socket->half_close();
    if (random.chance(0.5)) socket->receive();
    if (left-- > 0) return socket->send("");
    if (random.chance(0.5)) socket->reset();
    return false;
  };
}

const std::string& random_endpoint(const Attacker& attacker, Random& random) {
  const Endpoints& all = attacker.endpoints;
  switch (random.below(3)) {
    case 0:
      return all.commands;
    case 1:
      return all.results;
    default:
      return all.http;
  }
}

std::string random_bytes(Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

std::string big_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int at = bytes - 1; at >= 0; --at) text += static_cast<char>(number >> (8 * at) & 0xff);
  return text;
}

}  // namespace starling::stream
