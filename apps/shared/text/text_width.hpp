// SPDX-License-Identifier: Apache-2.0
// The columns that UTF-8 text takes on a terminal, where a CJK character takes two columns and a
// combining character none. The tables of the commands use it to align their columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace starling::apps {

/// A control character or a byte that is not UTF-8 counts as one column. Pass plain_text() of text
/// that comes from others.
std::size_t columns_of(std::string_view text);

/// Returns the longest beginning of `text` that fits into `columns`. No character is cut in half.
std::string_view cut(std::string_view text, std::size_t columns);

/// Appends spaces up to `columns`. A longer text stays as it is.
std::string padded(std::string_view text, std::size_t columns);

}  // namespace starling::apps
