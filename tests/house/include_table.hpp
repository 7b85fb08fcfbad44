// SPDX-License-Identifier: Apache-2.0
// Which room may include which: the table as data, and the check of one #include line.
// includes_test.cpp checks every source file against it.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace starling::house {

/// A room is a folder of sources, such as "cpu/points/index". It may always include itself.
struct Room {
  std::string name;
  std::vector<std::string> may_include;
};

/// For the names of tests.
inline void PrintTo(const Room& room, std::ostream* out) {
  *out << room.name;
}

/// All rooms, lowest first: a room may include only rooms that stand before it in this list.
const std::vector<Room>& house_rooms();

/// Why a file of `room` may not contain `line`; std::nullopt if it may. Lines that include nothing
/// are allowed.
std::optional<std::string> include_violation(std::string_view room, std::string_view line);

}  // namespace starling::house
