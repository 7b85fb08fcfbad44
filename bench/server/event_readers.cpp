// SPDX-License-Identifier: Apache-2.0
// Reads from all connections with epoll: see event_readers.hpp.
#include "starling/bench/server/event_readers.hpp"

#include <array>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace starling::bench {

namespace {

constexpr int wait_ms = 50;
constexpr int patience_s = 20;

sockaddr_in address_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1))));
  inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr);
  return address;
}

/// Reads until the text has an event `snapshot`.
void wait_for_snapshot(int socket) {
  const timeval patience{patience_s, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string text;
  while (text.find("event: snapshot\n") == std::string::npos) {
    std::array<char, 4096> buffer{};
    const ssize_t count = recv(socket, buffer.data(), buffer.size(), 0);
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count <= 0 || (text.size() > 12 && text.substr(9, 3) != "200"))
      throw std::runtime_error("the server sends no events: " + text.substr(0, text.find('\r')));
  }
}

}  // namespace

EventReaders::EventReaders(const ServerChild& server, std::string_view stream, unsigned count)
    : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  try {
    for (unsigned i = 0; i < count; ++i) open(server.http(), stream);
    thread_ = std::thread([this] { read_all(); });
  } catch (...) {
    close_all();
    throw;
  }
}

EventReaders::~EventReaders() {
  is_stopping_ = true;
  thread_.join();
  close_all();
}

std::uint64_t EventReaders::bytes() const {
  if (has_ended_) throw std::runtime_error("the server has disconnected a reader of events");
  return bytes_;
}

void EventReaders::open(const std::string& endpoint, std::string_view stream) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error("there is no socket for a reader of events");
  sockets_.push_back(socket);
  const sockaddr_in address = address_of(endpoint);
  const std::string request =
      "GET /v1/streams/" + std::string(stream) + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      send(socket, request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size()))
    throw std::runtime_error("cannot connect a reader of events to " + endpoint);
  wait_for_snapshot(socket);
  epoll_event readable{};
  readable.events = EPOLLIN;
  readable.data.fd = socket;
  epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &readable);
}

void EventReaders::read_all() {
  std::array<epoll_event, 64> ready{};
  std::array<char, 65536> buffer{};
  while (!is_stopping_) {
    const int count = epoll_wait(poll_, ready.data(), static_cast<int>(ready.size()), wait_ms);
    for (int i = 0; i < count; ++i) {
      const int socket = ready[static_cast<std::size_t>(i)].data.fd;
      const ssize_t got = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
      if (got != 0) continue;
      has_ended_ = true;
      epoll_ctl(poll_, EPOLL_CTL_DEL, socket, nullptr);
    }
  }
}

void EventReaders::close_all() {
  for (const int socket : sockets_) close(socket);
  if (poll_ >= 0) close(poll_);
}

}  // namespace starling::bench
