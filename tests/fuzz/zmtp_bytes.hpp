// SPDX-License-Identifier: Apache-2.0
// Builds greetings, frames and numbers of ZMTP for the targets `zmtp` and `curve`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "starling/stream/zmtp/session.hpp"

namespace starling::fuzz {

/// Returns the eight bytes of a number, the highest first.
inline std::string number_text(std::uint64_t number) {
  std::string sent;
  for (int shift = 56; shift >= 0; shift -= 8) sent += static_cast<char>(number >> shift);
  return sent;
}

/// Returns a frame whose length has eight bytes.
inline std::string long_frame(std::uint8_t flags, const std::string& body) {
  return static_cast<char>(flags | 2) + number_text(body.size()) + body;
}

inline std::string greeting(std::string_view mechanism) {
  std::string bytes(stream::zmtp::greeting_bytes, '\0');
  bytes[0] = '\xff';
  bytes[9] = '\x7f';
  bytes[10] = 3;
  bytes[11] = 1;
  bytes.replace(12, mechanism.size(), mechanism);
  return bytes;
}

}  // namespace starling::fuzz
