// SPDX-License-Identifier: Apache-2.0
// Checks and converts the text of a flag that takes a duration, such as 200ms or 5s.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace starling::apps {

/// Returns a check for CLI11: it accepts durations of at least `least_us` and otherwise returns a
/// sentence that says what is wrong.
std::function<std::string(const std::string&)> is_duration_from(std::int64_t least_us);

/// Converts a text that is_duration_from() has accepted.
std::int64_t duration_us(const std::string& text);

}  // namespace starling::apps
