// SPDX-License-Identifier: Apache-2.0
// ZMTP 3.1 (RFC 37), section Framing: see frame_head.hpp.
#include "starling/stream/zmtp/frame_head.hpp"

#include <algorithm>
#include <cstring>

namespace starling::stream::zmtp {

namespace {

constexpr std::uint8_t more_flag = 1;
constexpr std::uint8_t long_flag = 2;
constexpr std::uint8_t command_flag = 4;
constexpr std::uint8_t all_flags = more_flag | long_flag | command_flag;
constexpr std::uint64_t short_bytes_max = 255;

}  // namespace

std::size_t HeadReader::size() const {
  return (std::to_integer<std::uint8_t>(bytes_[0]) & long_flag) != 0 ? head_bytes_max : 2;
}

std::size_t HeadReader::take(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !is_complete()) {
    const std::size_t wanted = count_ == 0 ? 1 : size() - count_;
    const std::size_t count = std::min(wanted, bytes.size() - taken);
    std::memcpy(bytes_.data() + count_, bytes.data() + taken, count);
    count_ += count;
    taken += count;
  }
  return taken;
}

std::optional<FrameHead> HeadReader::head() const {
  const auto flags = std::to_integer<std::uint8_t>(bytes_[0]);
  FrameHead head{.more = (flags & more_flag) != 0, .is_command = (flags & command_flag) != 0};
  if ((flags & ~all_flags) != 0 || (head.more && head.is_command)) return std::nullopt;
  for (std::size_t at = 1; at < count_; ++at)
    head.bytes = head.bytes << 8 | std::to_integer<std::uint64_t>(bytes_[at]);
  return head;
}

std::size_t write_head(const FrameHead& head, std::span<std::byte, head_bytes_max> out) {
  const bool is_long = head.bytes > short_bytes_max;
  out[0] = static_cast<std::byte>((head.more ? more_flag : 0) | (is_long ? long_flag : 0) |
                                  (head.is_command ? command_flag : 0));
  const std::size_t size_bytes = is_long ? 8 : 1;
  for (std::size_t at = 0; at < size_bytes; ++at)
    out[1 + at] = static_cast<std::byte>(head.bytes >> 8 * (size_bytes - 1 - at));
  return 1 + size_bytes;
}

}  // namespace starling::stream::zmtp
