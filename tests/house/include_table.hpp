// Which folder may include which: the house's table, as data, and the check of one #include line.
// includes_test.cpp holds every source file against it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling::house {

/// Why a file of `folder` may not hold `line`, or nothing. Lines that include nothing are fine.
std::optional<std::string> include_violation(std::string_view folder, std::string_view line);

/// The folders of the table.
std::vector<std::string> house_folders();

}  // namespace starling::house
