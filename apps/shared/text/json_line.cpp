// SPDX-License-Identifier: Apache-2.0
// Appends the fields: see json_line.hpp.
#include "starling/apps/shared/text/json_line.hpp"

#include <cmath>

#include "starling/sim/files/text_append.hpp"

namespace starling::apps {

JsonLine& JsonLine::text(std::string_view name, std::string_view value) {
  std::string quoted;
  sim::append_json(quoted, value);
  return json(name, quoted);
}

JsonLine& JsonLine::number(std::string_view name, double value) {
  if (!std::isfinite(value)) return json(name, "null");
  std::string digits;
  sim::append_number(digits, value);
  return json(name, digits);
}

JsonLine& JsonLine::json(std::string_view name, std::string_view value) {
  if (text_.size() > 1) text_ += ',';
  sim::append_json(text_, name);
  text_.append(":").append(value);
  return *this;
}

std::string json_array(std::span<const std::string> elements) {
  std::string text = "[";
  for (const std::string& element : elements)
    text.append(&element == &elements.front() ? "" : ",").append(element);
  return text + "]";
}

}  // namespace starling::apps
