// SPDX-License-Identifier: Apache-2.0
// Lays the frames of a message out: see socket_message.hpp.
#include "starling/stream/websocket/socket_message.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace starling::stream {

namespace asio = boost::asio;

namespace {

constexpr std::size_t frame_alignment = 8;
constexpr std::array<char, frame_alignment> padding{};

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

template <class Number>
void append_number(std::string& text, Number number) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(Number)>>(number);
  text.append(bytes.data(), bytes.size());
}

asio::const_buffer buffer_of(const protocol::Frame& frame) {
  const auto bytes = frame.bytes();
  return asio::buffer(bytes.data(), bytes.size());
}

}  // namespace

SocketMessage::SocketMessage(protocol::Frame frame) : frame_(std::move(frame)) {
  add(buffer_of(frame_));
}

SocketMessage::SocketMessage(protocol::TickMessage tick) : tick_(std::move(tick)) {
  append_number(head_, static_cast<std::uint32_t>(2 + tick_.chunks.size()));
  head_.append("STTM");
  append_number(head_, std::uint64_t{tick_.topic.size()});
  append_number(head_, std::uint64_t{tick_.header.size()});
  for (const protocol::Frame& chunk : tick_.chunks)
    append_number(head_, std::uint64_t{chunk.size()});
  add(asio::buffer(head_));
  add(asio::buffer(tick_.topic));
  add_padding();
  add(buffer_of(tick_.header));
  for (const protocol::Frame& chunk : tick_.chunks) {
    add_padding();
    add(buffer_of(chunk));
  }
}

void SocketMessage::add(asio::const_buffer buffer) {
  buffers_.push_back(buffer);
  bytes_ += buffer.size();
}

void SocketMessage::add_padding() {
  if (const std::size_t past = bytes_ % frame_alignment; past != 0)
    add(asio::buffer(padding.data(), frame_alignment - past));
}

}  // namespace starling::stream
