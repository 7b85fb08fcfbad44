// SPDX-License-Identifier: Apache-2.0
// Makes text from a file safe to print inside an error message: escapes control characters and
// limits the length. All readers use these functions, and so does the reader of the --config file.
#pragma once

#include <string>
#include <string_view>

namespace starling::sim {

/// Returns `text` as plain_text() does. Cuts the text after 60 characters and appends "…".
std::string printable_text(std::string_view text);

/// Returns printable_text(text) in single quotes.
std::string quoted_text(std::string_view text);

}  // namespace starling::sim
