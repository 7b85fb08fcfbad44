// SPDX-License-Identifier: Apache-2.0
// Appends values and escapes strings: see json_text.hpp.
#include "starling/knn/base/json_text.hpp"

#include <cmath>

namespace starling {

void append_json_string(std::string& text, std::string_view value) {
  static constexpr std::string_view digits = "0123456789abcdef";
  text += '"';
  for (const char letter : value) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else if (code < 0x20) {
      text.append("\\u00").append({digits[code >> 4], digits[code & 15]});
    } else {
      text += letter;
    }
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
