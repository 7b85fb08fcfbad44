// SPDX-License-Identifier: Apache-2.0
// Reads the frames of a WebSocket: see view_reader.hpp.
#include "starling/bench/server/view_reader.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <variant>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/bench/server/reader_socket.hpp"
#include "starling/knn/base/clocks.hpp"

namespace starling::bench {

namespace {

constexpr int wait_ms = 50;

// Kinds of frames: RFC 6455, section 5.2.
constexpr unsigned binary = 2;
constexpr unsigned close_frame = 8;
constexpr unsigned ping = 9;
constexpr unsigned char pong_first_byte = 0x8A;

bool is_view(const std::vector<std::byte>& message) {
  constexpr std::size_t at = 4;
  if (message.size() < 2 * at) return false;
  const std::string_view identifier(reinterpret_cast<const char*>(message.data()) + at, at);
  return identifier == "STVT" || identifier == "STVR";
}

}  // namespace

ViewReader::ViewReader(const ServerChild& server, const protocol::View& view)
    : socket_(open_view(server.http(), view)), thread_([this] {
        try {
          read_all();
        } catch (...) {
          error_ = std::current_exception();
        }
      }) {}

ViewReader::~ViewReader() {
  stop();
  close(socket_);
}

void ViewReader::stop() {
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

const std::vector<ShownFrame>& ViewReader::frames() const {
  if (error_) std::rethrow_exception(error_);
  return frames_;
}

bool ViewReader::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    while (poll(&readable, 1, wait_ms) == 0)
      if (is_stopping_) return false;
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got <= 0) throw std::runtime_error("the server has disconnected a view");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return !is_stopping_;
}

void ViewReader::read_all() {
  std::vector<std::byte> payload;
  std::array<std::byte, 10> head{};
  while (read(std::span(head).first(2))) {
    const auto kind = std::to_integer<unsigned>(head[0] & std::byte{0x0F});
    const auto short_size = std::to_integer<std::size_t>(head[1]);
    const std::size_t size_bytes = short_size < 126 ? 0 : short_size == 126 ? 2 : 8;
    if (!read(std::span(head).subspan(2, size_bytes))) return;
    std::size_t size = size_bytes == 0 ? short_size : 0;
    for (std::size_t i = 0; i < size_bytes; ++i)
      size = size << 8 | std::to_integer<std::size_t>(head[2 + i]);
    payload.resize(size);
    if (!read(payload)) return;
    if (kind == ping)
      send_frame(socket_, pong_first_byte,
                 {reinterpret_cast<const char*>(payload.data()), payload.size()});
    if (kind == close_frame) throw std::runtime_error("the server has closed a view");
    if (kind == binary && is_view(payload)) note(payload);
  }
}

void ViewReader::note(const std::vector<std::byte>& message) {
  const std::int64_t received_us = wall_now_us();
  const protocol::AlignedBytes aligned(message);
  const protocol::DecodedView view = protocol::decode_view(aligned);
  if (view.problem) throw std::runtime_error("a view is unreadable: " + view.problem->sentence);
  frames_.push_back({.received_us = received_us,
                     .tau_us = view.head.tau_us,
                     .in_view = view.head.in_view,
                     .bytes = message.size(),
                     .is_raster = std::holds_alternative<protocol::ViewCells>(view.body)});
}

}  // namespace starling::bench
