// SPDX-License-Identifier: Apache-2.0
// Asks wcwidth() for the width of each character: see text_width.hpp.
#include "starling/apps/shared/text/text_width.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include <locale.h>

#include "starling/knn/base/plain_text.hpp"

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

std::size_t width_of(char32_t code) {
  const int width = wcwidth(static_cast<wchar_t>(code));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  const UnicodeLocale locale;
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    columns += width_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string_view cut(std::string_view text, std::size_t columns) {
  const UnicodeLocale locale;
  std::size_t end = 0;
  while (end < text.size()) {
    const Utf8Character character = first_character(text.substr(end));
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

}  // namespace starling::apps
