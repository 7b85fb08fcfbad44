// SPDX-License-Identifier: Apache-2.0
// The numbers and the layout that the encoder and the decoder of records share. They are part of
// the log's format.
#pragma once

#include <cstdint>

namespace starling::stream {

enum class ChangeType : std::uint8_t {
  none = 0,
  objects = 1,
  vectors = 2,
  tags = 3,
  removals = 4,
  queries = 5,
  query_removals = 6,
  names = 7,
  stream = 8,
  stream_removal = 9,
};

inline constexpr std::uint8_t has_tags_bit = 1;
inline constexpr std::uint8_t has_label_bit = 2;
inline constexpr std::uint8_t has_value_bit = 4;

/// An update of an object in 33 bytes, without padding.
#pragma pack(push, 1)
struct PackedObject {
  std::uint64_t id;
  std::int64_t time_us;
  std::int32_t x;
  std::int32_t y;
  std::int32_t z;
  std::uint32_t tags;
  std::uint8_t flags;
};
#pragma pack(pop)

}  // namespace starling::stream
