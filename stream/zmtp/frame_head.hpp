// SPDX-License-Identifier: Apache-2.0
// The head of a ZMTP frame: one byte of flags, and the size of the body in one byte or in eight.
// Session reads heads, and WireMessage and CurveCipher write them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace starling::stream::zmtp {

inline constexpr std::size_t head_bytes_max = 9;

struct FrameHead {
  bool more = false;  ///< further parts of the same message follow
  bool is_command = false;
  std::uint64_t bytes = 0;  ///< bytes of the body
};

/// Gathers the bytes of one head.
class HeadReader {
 public:
  /// Takes the bytes that still belong to the head, and returns their number.
  std::size_t take(std::span<const std::byte> bytes);
  bool is_complete() const { return count_ > 0 && count_ == size(); }
  /// Returns std::nullopt if a reserved bit is set, or if a command says that more follows. The
  /// head must be complete.
  std::optional<FrameHead> head() const;
  void clear() { count_ = 0; }
  bool is_empty() const { return count_ == 0; }

 private:
  std::size_t size() const;

  std::array<std::byte, head_bytes_max> bytes_{};
  std::size_t count_ = 0;
};

/// Writes the head. Returns the number of bytes written, 2 or 9.
std::size_t write_head(const FrameHead& head, std::span<std::byte, head_bytes_max> out);

}  // namespace starling::stream::zmtp
