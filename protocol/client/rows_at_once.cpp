// SPDX-License-Identifier: Apache-2.0
// Divides the bytes of a frame by the longest possible row: see rows_at_once.hpp.
#include "starling/protocol/client/rows_at_once.hpp"

#include <algorithm>
#include <cstdint>

namespace starling::protocol {
namespace {

constexpr std::uint64_t updates_at_once_max = 65'536;
constexpr std::uint64_t update_overhead_bytes = 4096;

/// Returns how many rows of this length fit into half a frame: at least 1, at most ids_at_once().
std::size_t rows_in_half_a_frame(const Limits& limits, std::size_t row_bytes) {
  return std::clamp<std::size_t>(limits.frame_bytes_max / (2 * row_bytes), 1, ids_at_once(limits));
}

}  // namespace

std::size_t updates_at_once(const Limits& limits) {
  // Id, time, tags, label and value, and components of 8 bytes each.
  const std::uint64_t row_bytes =
      8 + 8 + 4 + 8 + 8 + 8 * std::uint64_t{std::max(3u, limits.dimension)};
  const std::uint64_t frame_bytes =
      std::min<std::uint64_t>(limits.frame_bytes_max, limits.credit_bytes / 4);
  const std::uint64_t rows_in_frame =
      (frame_bytes - std::min(frame_bytes, update_overhead_bytes)) / row_bytes;
  return std::max<std::uint64_t>(
      1, std::min({std::uint64_t{limits.rows_max}, limits.credit_rows / 4, rows_in_frame,
                   updates_at_once_max}));
}

std::size_t names_at_once(const Limits& limits) {
  constexpr std::size_t overhead_bytes = 64;
  return rows_in_half_a_frame(limits, limits.text_bytes_max + overhead_bytes);
}

std::size_t queries_at_once(const Limits& limits) {
  constexpr std::size_t query_bytes = 256;
  return rows_in_half_a_frame(limits, query_bytes + limits.dimension * sizeof(float));
}

std::size_t ids_at_once(const Limits& limits) {
  return std::max(limits.rows_max, 1u);
}

}  // namespace starling::protocol
