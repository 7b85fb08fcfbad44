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

#include "starling/protocol/wire/socket_codec.hpp"

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

/// Reads until the text has `awaited`.
void wait_for(int socket, std::string_view awaited) {
  const timeval patience{patience_s, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string text;
  while (text.find(awaited) == std::string::npos) {
    std::array<char, 4096> buffer{};
    const ssize_t count = recv(socket, buffer.data(), buffer.size(), 0);
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    const bool is_refused =
        text.size() > 12 && text.substr(9, 3) != "200" && text.substr(9, 3) != "101";
    if (count <= 0 || is_refused)
      throw std::runtime_error("the server refuses a reader: " + text.substr(0, text.find('\r')));
  }
}

void send_all(int socket, const std::string& text) {
  if (send(socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot send the request of a reader");
}

/// Returns a frame of a WebSocket with a message of at most 125 bytes. Its mask is zeros.
std::string frame_of(const protocol::Frame& message) {
  constexpr std::size_t size_max = 125;
  if (message.size() > size_max) throw std::logic_error("a View is a short message");
  std::string frame{'\x82', static_cast<char>(0x80 | message.size())};
  frame.append(4, '\0');
  frame.append(reinterpret_cast<const char*>(message.bytes().data()), message.size());
  return frame;
}

}  // namespace

EventReaders::EventReaders(const ServerChild& server, std::string_view stream, unsigned count)
    : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  const std::string request =
      "GET /v1/streams/" + std::string(stream) + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  try {
    for (unsigned i = 0; i < count; ++i) watch(open(server.http(), request, "event: snapshot\n"));
    thread_ = std::thread([this] { read_all(); });
  } catch (...) {
    close_all();
    throw;
  }
}

EventReaders::EventReaders(const ServerChild& server, const Rectangle& rectangle, float ticks_per_s,
                           unsigned count)
    : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  const std::string request =
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
  const protocol::View view{.rectangle = rectangle,
                            .ticks_per_s = ticks_per_s,
                            .bytes_per_s = 1'000'000'000,
                            .objects_max = protocol::View::most_objects};
  try {
    for (unsigned i = 0; i < count; ++i) {
      const int socket = open(server.http(), request, "\r\n\r\n");
      send_all(socket, frame_of(protocol::encode_socket_request(1, view)));
      watch(socket);
    }
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
  if (has_ended_) throw std::runtime_error("the server has disconnected a reader");
  return bytes_;
}

int EventReaders::open(const std::string& endpoint, const std::string& request,
                       std::string_view awaited) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error("there is no socket for a reader");
  sockets_.push_back(socket);
  const sockaddr_in address = address_of(endpoint);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect a reader to " + endpoint);
  send_all(socket, request);
  wait_for(socket, awaited);
  return socket;
}

void EventReaders::watch(int socket) {
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
