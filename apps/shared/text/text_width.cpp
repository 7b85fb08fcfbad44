// SPDX-License-Identifier: Apache-2.0
// Decodes UTF-8 and asks wcwidth() for the width of each character: see text_width.hpp.
#include "starling/apps/shared/text/text_width.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include <locale.h>

namespace starling::apps {
namespace {

/// While this object exists, the thread's locale has the widths of Unicode characters. The
/// program's own locale stays "C", in which numbers are written with a point.
class UnicodeLocale {
 public:
  UnicodeLocale() : before_(uselocale(unicode())) {}
  ~UnicodeLocale() { uselocale(before_); }
  UnicodeLocale(const UnicodeLocale&) = delete;
  UnicodeLocale& operator=(const UnicodeLocale&) = delete;

 private:
  // Without this locale the result is null, uselocale() changes nothing, and wide characters count
  // as one column.
  static locale_t unicode() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  locale_t before_;
};

struct Character {
  std::size_t bytes = 1;
  char32_t code = 0xFFFD;
};

Character first_character(std::string_view text) {
  const auto octet = [&](std::size_t at) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at]));
  };
  const char32_t first = octet(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  char32_t code = first & (0x7Fu >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((octet(at) & 0xC0) != 0x80) return {};
    code = code << 6 | (octet(at) & 0x3F);
  }
  return {bytes, code};
}

std::size_t width_of(char32_t code) {
  const int width = wcwidth(static_cast<wchar_t>(code));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  const UnicodeLocale locale;
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    columns += width_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string_view cut(std::string_view text, std::size_t columns) {
  const UnicodeLocale locale;
  std::size_t end = 0;
  while (end < text.size()) {
    const Character character = first_character(text.substr(end));
    const std::size_t width = width_of(character.code);
    if (width > columns) break;
    columns -= width;
    end += character.bytes;
  }
  return text.substr(0, end);
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string result(text);
  result.append(columns - std::min(columns, columns_of(text)), ' ');
  return result;
}

std::string without_controls(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character character = first_character(text);
    const char32_t code = character.code;
    // U+0080 to U+009F are control characters too, and some terminals act on them.
    if (code < 0x20 || (code >= 0x7F && code < 0xA0))
      result += '?';
    else
      result += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return result;
}

}  // namespace starling::apps
