// SPDX-License-Identifier: Apache-2.0
// Builds one JSON object as text, field by field. The commands print it with --json.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace starling::apps {

class JsonLine {
 public:
  JsonLine& text(std::string_view name, std::string_view value);
  /// Writes the shortest text that reads back to the same number, or null if the number is not
  /// finite.
  JsonLine& number(std::string_view name, double value);
  template <std::integral Integer>
  JsonLine& number(std::string_view name, Integer value) {
    return json(name, std::to_string(value));
  }
  JsonLine& boolean(std::string_view name, bool value) {
    return json(name, value ? "true" : "false");
  }
  /// `value` is JSON already.
  JsonLine& json(std::string_view name, std::string_view value);

  /// Returns the object, without a line break.
  std::string str() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

/// Returns a JSON array of elements that are JSON already.
std::string json_array(std::span<const std::string> elements);

}  // namespace starling::apps
