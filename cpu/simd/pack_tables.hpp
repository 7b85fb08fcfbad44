// SPDX-License-Identifier: Apache-2.0
// Tables with one entry for each mask of 4 or 8 lanes: the numbers of the lanes that are set in the
// mask, in ascending order. packer-inl.hpp reads these tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace starling::cpu {

/// The numbers of the lanes that are set in a mask, for vectors of 8 lanes.
struct alignas(8) PackedLanes {
  std::uint8_t lanes[8] = {};
};

/// The numbers of the bytes of the lanes that are set in a mask, for vectors of 4 lanes of 4 bytes.
struct alignas(16) PackedBytes {
  std::uint8_t bytes[16] = {};
};

constexpr std::array<PackedLanes, 256> make_pack_8() {
  std::array<PackedLanes, 256> table{};
  for (std::size_t mask = 0; mask < table.size(); ++mask) {
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < 8; ++lane)
      if ((mask >> lane & 1) != 0) table[mask].lanes[count++] = static_cast<std::uint8_t>(lane);
  }
  return table;
}

constexpr std::array<PackedBytes, 16> make_pack_4() {
  std::array<PackedBytes, 16> table{};
  for (std::size_t mask = 0; mask < table.size(); ++mask) {
    std::size_t count = 0;
    for (std::size_t byte = 0; byte < 16; ++byte)
      if ((mask >> byte / 4 & 1) != 0) table[mask].bytes[count++] = static_cast<std::uint8_t>(byte);
  }
  return table;
}

inline constexpr std::array<PackedLanes, 256> pack_8 = make_pack_8();
inline constexpr std::array<PackedBytes, 16> pack_4 = make_pack_4();

}  // namespace starling::cpu
