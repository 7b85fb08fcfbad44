// SPDX-License-Identifier: Apache-2.0
// Writes JSON. The answers of the HTTP routes are made with JsonText.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace starling::stream {

/// Appends values to a JSON text, and sets the commas. Example:
///
///     JsonText json;
///     json.begin_object().key("tick").number(7).key("ids").begin_array().text("1").end_array();
///     json.end_object();
class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }
  JsonText& key(std::string_view name);
  /// Appends a string. `value` is UTF-8.
  JsonText& text(std::string_view value);
  JsonText& number(std::uint64_t value);
  JsonText& number(std::int64_t value);
  /// Appends the shortest text that reads back to the same number. `value` is finite.
  JsonText& number(double value);
  JsonText& boolean(bool value);
  JsonText& null();

  std::size_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  void begin_value();
  void append_string(std::string_view value);
  template <class Number>
  JsonText& append_number(Number value);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace starling::stream
