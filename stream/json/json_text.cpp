// SPDX-License-Identifier: Apache-2.0
// Appends values and escapes strings: see json_text.hpp.
#include "starling/stream/json/json_text.hpp"

#include <charconv>

namespace starling::stream {

JsonText& JsonText::key(std::string_view name) {
  begin_value();
  append_string(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  begin_value();
  append_string(value);
  return *this;
}

JsonText& JsonText::number(std::uint64_t value) {
  return append_number(value);
}

JsonText& JsonText::number(std::int64_t value) {
  return append_number(value);
}

JsonText& JsonText::number(double value) {
  return append_number(value);
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

void JsonText::append_string(std::string_view value) {
  static constexpr std::string_view digits = "0123456789abcdef";
  text_ += '"';
  for (const char letter : value) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      text_ += '\\';
      text_ += letter;
    } else if (code < 0x20) {
      text_.append("\\u00").append({digits[code >> 4], digits[code & 15]});
    } else {
      text_ += letter;
    }
  }
  text_ += '"';
}

template <class Number>
JsonText& JsonText::append_number(Number value) {
  begin_value();
  char digits[32];  // the longest float64 in its shortest form has 24 characters
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  text_.append(digits, end);
  return *this;
}

}  // namespace starling::stream
