// SPDX-License-Identifier: Apache-2.0
// Declares the table that says which room may include which other rooms, and the check of one
// #include line. includes_test.cpp checks every source file against the table.
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

/// GoogleTest prints a room with this function.
inline void PrintTo(const Room& room, std::ostream* out) {
  *out << room.name;
}

/// Returns all rooms, lowest first. A room may include only rooms that stand before it in this
/// list.
const std::vector<Room>& house_rooms();

/// Returns the reason why a file of `room` may not contain `line`, or std::nullopt if it may. A
/// line that is no #include line is always allowed.
std::optional<std::string> include_violation(std::string_view room, std::string_view line);

}  // namespace starling::house
