// SPDX-License-Identifier: Apache-2.0
// Writes JSON. The HTTP routes, the audit log, the output of the commands with --json and the
// reports of simulations are made with JsonText.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace starling {

/// Appends a JSON string with its quotes. Characters that are not plain (plain_text.hpp) are
/// escaped, so that a JSON text is harmless on a terminal. A byte that is not UTF-8 becomes U+FFFD.
void append_json_string(std::string& text, std::string_view value);

/// Appends values to a JSON text, and sets the commas. Example:
///
///     JsonText json;
///     json.begin_object().number("tick", 7).key("ids").begin_array().text("1").end_array();
///     json.end_object();
class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }
  JsonText& key(std::string_view name);
  /// Appends a string: see append_json_string().
  JsonText& text(std::string_view value);
  template <std::integral Integer>
  JsonText& number(Integer value) {
    begin_value();
    char digits[20];  // the longest 64-bit integer
    text_.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
    return *this;
  }
  /// Appends the shortest text that reads back to the same number, or null if the number is not
  /// finite.
  JsonText& number(double value);
  JsonText& boolean(bool value);
  JsonText& null();

  /// These three append a member of an object.
  JsonText& text(std::string_view name, std::string_view value) { return key(name).text(value); }
  template <class Number>
  JsonText& number(std::string_view name, Number value) {
    return key(name).number(value);
  }
  JsonText& boolean(std::string_view name, bool value) { return key(name).boolean(value); }

  std::size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  void begin_value();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace starling
