// SPDX-License-Identifier: Apache-2.0
// The nonces of CurveZMQ (RFC 26): a text and a number, or a text and random bytes. CurveHandshake
// and CurveCipher use them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace starling::stream::zmtp {

using CurveNonce = std::array<std::uint8_t, 24>;

inline const std::uint8_t* as_u8(const std::byte* bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}
inline std::uint8_t* as_u8(std::byte* bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes);
}

/// Returns a nonce of 16 characters and 8 bytes, or of 8 characters and 16 bytes. The wire carries
/// only the bytes.
inline CurveNonce nonce_of(std::string_view text, std::span<const std::byte> sent) {
  CurveNonce nonce{};
  std::memcpy(nonce.data(), text.data(), text.size());
  std::memcpy(nonce.data() + text.size(), sent.data(), nonce.size() - text.size());
  return nonce;
}

inline std::uint64_t number_in(std::span<const std::byte, 8> sent) {
  std::uint64_t number = 0;
  for (const std::byte byte : sent) number = number << 8 | std::to_integer<std::uint64_t>(byte);
  return number;
}

inline void put_number(std::uint64_t number, std::span<std::byte, 8> sent) {
  for (std::size_t at = 0; at < 8; ++at) sent[at] = static_cast<std::byte>(number >> 8 * (7 - at));
}

}  // namespace starling::stream::zmtp
