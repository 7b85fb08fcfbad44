// Which room may include which: the house's table, as data, and the check of one #include line.
// includes_test.cpp holds every source file against it.
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

/// All rooms, lowest first: a room includes only rooms above it in this list.
const std::vector<Room>& house_rooms();

/// Why a file of `room` may not hold `line`, or nothing. Lines that include nothing are fine.
std::optional<std::string> include_violation(std::string_view room, std::string_view line);

}  // namespace starling::house
