// SPDX-License-Identifier: Apache-2.0
// Chooses the unit, and rounds in whole numbers: see bytes_text.hpp.
#include "starling/knn/base/bytes_text.hpp"

#include <array>
#include <cstddef>

namespace starling {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t step = 1024;
  constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < step) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  // A number that would round up to 1,024 of a unit is written in the next unit.
  const auto tenths_of = [](std::uint64_t count, std::uint64_t unit) {
    return count / unit * 10 + (count % unit * 10 + unit / 2) / unit;
  };
  std::size_t larger = 0;
  std::uint64_t unit = step;
  while (larger + 1 < units.size() && tenths_of(bytes, unit) >= step * 10) {
    unit *= step;
    ++larger;
  }
  const std::uint64_t tenths = tenths_of(bytes, unit);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += '.' + std::to_string(tenths % 10);
  return text + ' ' + units[larger];
}

}  // namespace starling
