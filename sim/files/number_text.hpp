// SPDX-License-Identifier: Apache-2.0
// Parses numbers from text. The readers of traces, requests, queries and vectors use these
// functions, and so do the flags that take numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace starling::sim {

/// Returns `text` without the spaces and tabs at both ends.
std::string_view trim(std::string_view text);

/// Parses a decimal floating-point number; spaces and tabs around it are ignored. Returns
/// std::nullopt if `text` is anything else.
std::optional<double> parse_number(std::string_view text);

/// Parses tag bits: a whole number below 2^32, in decimal or, after 0x, in hexadecimal. Returns
/// std::nullopt if `text` is anything else.
std::optional<std::uint32_t> parse_tag_bits(std::string_view text);

}  // namespace starling::sim
