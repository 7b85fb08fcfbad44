// SPDX-License-Identifier: Apache-2.0
// Writes the heads of all frames once, for all connections: see wire_message.hpp.
#include "starling/stream/zmtp/wire_message.hpp"

#include <utility>

namespace starling::stream::zmtp {

WireMessage::WireMessage(std::vector<WirePart> parts) : parts_(std::move(parts)) {
  lay_out();
}

WireMessage::WireMessage(std::vector<std::byte> body, bool is_command)
    : is_command_(is_command), is_raw_(!is_command) {
  const auto owner = std::make_shared<std::vector<std::byte>>(std::move(body));
  parts_.push_back({owner, *owner});
  lay_out();
}

std::shared_ptr<const WireMessage> WireMessage::command(std::vector<std::byte> body) {
  return std::shared_ptr<const WireMessage>(new WireMessage(std::move(body), true));
}

std::shared_ptr<const WireMessage> WireMessage::handshake(std::span<const std::byte> body) {
  std::array<std::byte, head_bytes_max> head;
  const std::size_t size = write_head({.is_command = true, .bytes = body.size()}, std::span(head));
  std::vector<std::byte> bytes(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(size));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return raw(std::move(bytes));
}

std::shared_ptr<const WireMessage> WireMessage::raw(std::vector<std::byte> bytes) {
  return std::shared_ptr<const WireMessage>(new WireMessage(std::move(bytes), false));
}

FrameHead WireMessage::head_of(std::size_t part) const {
  return {.more = part + 1 < parts_.size(),
          .is_command = is_command_,
          .bytes = parts_[part].bytes.size()};
}

void WireMessage::add_piece(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({const_cast<std::byte*>(bytes.data()), bytes.size()});
  bytes_ += bytes.size();
}

void WireMessage::lay_out() {
  heads_.resize(parts_.size());
  pieces_.reserve(2 * parts_.size());
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!is_raw_)
      add_piece(std::span(heads_[part]).first(write_head(head_of(part), std::span(heads_[part]))));
    add_piece(parts_[part].bytes);
  }
}

}  // namespace starling::stream::zmtp
