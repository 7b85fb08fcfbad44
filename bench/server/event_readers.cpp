// SPDX-License-Identifier: Apache-2.0
// Reads from all connections with epoll: see event_readers.hpp.
#include "starling/bench/server/event_readers.hpp"

#include <array>
#include <stdexcept>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/bench/server/reader_socket.hpp"

namespace starling::bench {

namespace {

constexpr int wait_ms = 50;

}  // namespace

EventReaders::EventReaders(const ServerChild& server, std::string_view stream, unsigned count)
    : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  const std::string request =
      "GET /v1/streams/" + std::string(stream) + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  try {
    for (unsigned i = 0; i < count; ++i) {
      sockets_.push_back(open_reader(server.http(), request, "event: snapshot\n"));
      watch(sockets_.back());
    }
    thread_ = std::thread([this] { read_all(); });
  } catch (...) {
    close_all();
    throw;
  }
}

EventReaders::EventReaders(const ServerChild& server, const Rectangle& rectangle, float ticks_per_s,
                           unsigned count)
    : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  const protocol::View view{.rectangle = rectangle,
                            .ticks_per_s = ticks_per_s,
                            .bytes_per_s = 1'000'000'000,
                            .objects_max = protocol::View::most_objects};
  try {
    for (unsigned i = 0; i < count; ++i) {
      sockets_.push_back(open_view(server.http(), view));
      watch(sockets_.back());
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
