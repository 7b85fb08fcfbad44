// SPDX-License-Identifier: Apache-2.0
// Escapes and cuts: see quoted_text.hpp.
#include "starling/sim/data/files/quoted_text.hpp"

#include "starling/knn/base/plain_text.hpp"

namespace starling::sim {

std::string printable_text(std::string_view text) {
  constexpr int characters_max = 60;
  std::string result;
  for (int count = 0; !text.empty(); ++count) {
    if (count == characters_max) return result + "\u2026";
    const Utf8Character character = first_character(text);
    append_plain(result, character, text.substr(0, character.bytes));
    text.remove_prefix(character.bytes);
  }
  return result;
}

std::string quoted_text(std::string_view text) {
  std::string result(1, '\'');
  return result.append(printable_text(text)).append(1, '\'');
}

}  // namespace starling::sim
