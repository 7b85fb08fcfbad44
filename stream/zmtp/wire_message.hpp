// SPDX-License-Identifier: Apache-2.0
// A message to send: its parts, and the bytes that a connection without encryption sends for them.
// All subscribers of a tick share one WireMessage and the frames in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "starling/stream/zmtp/frame_head.hpp"

namespace starling::stream::zmtp {

/// A part and the owner of its memory.
struct WirePart {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

class WireMessage {
 public:
  explicit WireMessage(std::vector<WirePart> parts);
  WireMessage(const WireMessage&) = delete;
  WireMessage& operator=(const WireMessage&) = delete;

  /// Returns a message of one frame: a command with this body.
  static std::shared_ptr<const WireMessage> command(std::vector<std::byte> body);
  /// Returns a command of the handshake with this body, as a raw message: these commands are never
  /// encrypted as a whole.
  static std::shared_ptr<const WireMessage> handshake(std::span<const std::byte> body);
  /// Returns a message of bytes that are sent as they are, such as the greeting.
  static std::shared_ptr<const WireMessage> raw(std::vector<std::byte> bytes);

  std::span<const WirePart> parts() const { return parts_; }
  FrameHead head_of(std::size_t part) const;
  bool is_raw() const { return is_raw_; }
  /// Heads and bodies in the order of the wire.
  std::span<const iovec> pieces() const { return pieces_; }
  /// The number of bytes of all pieces.
  std::size_t bytes() const { return bytes_; }

 private:
  WireMessage(std::vector<std::byte> body, bool is_command);
  void add_piece(std::span<const std::byte> bytes);
  void lay_out();

  std::vector<WirePart> parts_;
  std::vector<std::array<std::byte, head_bytes_max>> heads_;
  std::vector<iovec> pieces_;
  std::size_t bytes_ = 0;
  bool is_command_ = false;
  bool is_raw_ = false;
};

}  // namespace starling::stream::zmtp
