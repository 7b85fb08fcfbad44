// SPDX-License-Identifier: Apache-2.0
// Reads values that HTTP requests write as text: numbers and percent-encoded words. Functions for
// times and durations are in knn/base/time_text.hpp. The readers of bodies and parameters use both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/base/time_text.hpp"

namespace starling::stream {

/// All parse functions return std::nullopt if the whole text is not one value of their type. A
/// double may be NaN.
std::optional<double> parse_double(std::string_view text);
std::optional<std::uint32_t> parse_uint32(std::string_view text);
std::optional<std::int64_t> parse_int64(std::string_view text);
/// Parses "true" or "false".
std::optional<bool> parse_bool(std::string_view text);
/// Parses the components of a vector, such as "0.5,-1". Each must be within the range of float32.
std::optional<std::vector<float>> parse_components(std::string_view text);

/// Rounds a component to float32. Returns std::nullopt if it is NaN or beyond the range of float32.
std::optional<float> to_component(double number);

/// Decodes %XX, and '+' as a space if `plus_is_space`. Returns std::nullopt if a percent sign is
/// not followed by two hexadecimal digits, or if the result is not UTF-8.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace starling::stream
