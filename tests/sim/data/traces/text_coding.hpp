// SPDX-License-Identifier: Apache-2.0
// Codes texts for generated tables: strings of JSON, byte order marks and UTF-16.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/random.hpp"

namespace starling::sim {

/// Returns true for a number as JSON spells it.
bool is_json_number(std::string_view text);

/// Returns the text in quotes, with some characters as escapes.
std::string json_string(test::Random& random, std::string_view text);

/// Returns valid UTF-8 as UTF-8 or UTF-16, with or without a byte order mark.
std::string coded(test::Random& random, const std::string& text);

}  // namespace starling::sim
