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

}  // namespace

HostileConnection::HostileConnection(const std::string& endpoint, int receive_bytes) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (receive_bytes > 0)
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_of(endpoint));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

HostileConnection::~HostileConnection() {
  close(fd_);
}

bool HostileConnection::send(std::string_view bytes) {
  waiting_.append(bytes);
  const ssize_t count = ::send(fd_, waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
  if (count > 0) waiting_.erase(0, static_cast<std::size_t>(count));
  return count >= 0 || errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS;
}

std::string HostileConnection::receive() {
  std::string bytes(16'384, '\0');
  const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

void HostileConnection::half_close() {
  shutdown(fd_, SHUT_WR);
}

void HostileConnection::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

HostileStep in_pieces(const std::string& endpoint, std::string text, std::size_t piece_max,
                      int stays) {
  auto socket = std::make_shared<HostileConnection>(endpoint);
  return [=, at = std::size_t{0}, left = stays](Random& random) mutable {
    if (at < text.size()) {
      const std::size_t count =
          std::min<std::size_t>(1 + random.below(piece_max), text.size() - at);
      const bool is_open = socket->send(std::string_view(text).substr(at, count));
      at += count;
      return is_open;
    }
    if (left == stays && random.chance(0.3)) socket->half_close();
    if (random.chance(0.5)) socket->receive();
    if (left-- > 0) return socket->send("");
    if (random.chance(0.5)) socket->reset();
    return false;
  };
}

}  // namespace starling::stream
