// SPDX-License-Identifier: Apache-2.0
// Encrypts and decrypts the frames of one CURVE connection after its handshake (RFC 26, MESSAGE).
// Session opens frames with it, and WriteQueue seals them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "starling/stream/zmtp/body.hpp"
#include "starling/stream/zmtp/frame_head.hpp"

namespace starling::stream::zmtp {

class CurveCipher {
 public:
  using Key = std::array<std::uint8_t, 32>;

  /// Bytes of a sealed frame before its payload: a name, a number, the tag and the flags.
  static constexpr std::size_t payload_at = 8 + 8 + 16 + 1;

  /// `peer_number` and `own_number` are the last numbers that the handshake has used.
  CurveCipher(const Key& key, std::uint64_t peer_number, std::uint64_t own_number)
      : key_(key), peer_number_(peer_number), own_number_(own_number) {}
  ~CurveCipher();
  CurveCipher(const CurveCipher&) = delete;
  CurveCipher& operator=(const CurveCipher&) = delete;

  /// Decrypts the frame in place. `body` then holds the payload. Returns the head of the frame
  /// inside. Returns std::nullopt if the frame is forged, or if its number has come before.
  std::optional<FrameHead> open(Body& body);

  /// Appends the whole frame, with its own head, to `out`.
  void seal(const FrameHead& head, std::span<const std::byte> payload, std::vector<std::byte>& out);

 private:
  Key key_;
  std::uint64_t peer_number_;
  std::uint64_t own_number_;
};

}  // namespace starling::stream::zmtp
