// SPDX-License-Identifier: Apache-2.0
// Appends values and escapes strings: see json_text.hpp.
#include "starling/knn/base/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "starling/knn/base/plain_text.hpp"

namespace starling {
namespace {

bool is_kept(char letter) {
  return letter >= 0x20 && letter < 0x7F && letter != '"' && letter != '\\';
}

/// Appends \uHHHH, or two of them for a character beyond U+FFFF.
void append_escaped(std::string& text, char32_t code) {
  if (code > 0xFFFF) {
    append_escaped(text, 0xD7C0 + (code >> 10));
    code = 0xDC00 + (code & 0x3FF);
  }
  text += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += "0123456789abcdef"[code >> shift & 15];
}

}  // namespace

void append_json_string(std::string& text, std::string_view value) {
  text += '"';
  for (std::size_t at = 0; at < value.size();) {
    const auto* const rest = value.begin() + at;
    const auto kept =
        static_cast<std::size_t>(std::distance(rest, std::find_if_not(rest, value.end(), is_kept)));
    text += value.substr(at, kept);
    at += kept;
    if (at == value.size()) break;
    const Utf8Character character = first_character(value.substr(at));
    if (character.code == '"' || character.code == '\\')
      text.append({'\\', value[at]});
    else if (character.is_valid && is_plain(character.code))
      text += value.substr(at, character.bytes);
    else
      append_escaped(text, character.code);
    at += character.bytes;
  }
  text += '"';
}

JsonText& JsonText::key(std::string_view name) {
  text(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  begin_value();
  append_json_string(text_, value);
  return *this;
}

JsonText& JsonText::number(double value) {
  if (!std::isfinite(value)) return null();
  begin_value();
  char digits[32];  // the longest float64 in its shortest form has 24 characters
  text_.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  return *this;
}

JsonText& JsonText::boolean(bool value) {
  begin_value();
  text_ += value ? "true" : "false";
  return *this;
}

JsonText& JsonText::null() {
  begin_value();
  text_ += "null";
  return *this;
}

JsonText& JsonText::open(char bracket) {
  begin_value();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

void JsonText::begin_value() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

}  // namespace starling
