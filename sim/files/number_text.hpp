// SPDX-License-Identifier: Apache-2.0
// Parses numbers from text. The readers of traces, requests, queries and vectors use these
// functions, and so do the flags that take numbers.
#pragma once

#include <optional>
#include <string_view>

namespace starling::sim {

/// Returns `text` without the spaces and tabs at both ends.
std::string_view trim(std::string_view text);

/// Parses a decimal floating-point number; spaces and tabs around it are ignored. Returns
/// std::nullopt if `text` is anything else.
std::optional<double> parse_number(std::string_view text);

}  // namespace starling::sim
