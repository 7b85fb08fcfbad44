// Text of a file inside a sentence: between quotes, without a byte that steers a terminal or ends
// the sentence, and no longer than a line bears. All readers quote with it, and the file of
// --config.
#pragma once

#include <string>
#include <string_view>

namespace starling::sim {

/// Control characters, and bytes that are no UTF-8, as \xNN; beyond 60 characters cut, with "…".
std::string printable_text(std::string_view text);

/// The same in single quotes.
std::string quoted_text(std::string_view text);

}  // namespace starling::sim
