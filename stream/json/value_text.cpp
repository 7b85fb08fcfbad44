// SPDX-License-Identifier: Apache-2.0
// Numbers are read with std::from_chars, which ignores the locale: see value_text.hpp.
#include "starling/stream/json/value_text.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "starling/protocol/wire/check.hpp"

namespace starling::stream {

namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

constexpr bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

int hex_digit(char letter) {
  if (is_digit(letter)) return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<double> parse_double(std::string_view text) {
  return parse_number<double>(text);
}

std::optional<std::uint32_t> parse_uint32(std::string_view text) {
  return parse_number<std::uint32_t>(text);
}

std::optional<std::int64_t> parse_int64(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<std::vector<float>> parse_components(std::string_view text) {
  std::vector<float> components;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    const auto number = parse_double(text.substr(0, comma));
    const auto component = number ? to_component(*number) : std::nullopt;
    if (!component) return std::nullopt;
    components.push_back(*component);
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return components;
}

std::optional<float> to_component(double number) {
  if (!(std::abs(number) <= std::numeric_limits<float>::max())) return std::nullopt;
  return static_cast<float>(number);
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  if (!protocol::is_utf8(decoded)) return std::nullopt;
  return decoded;
}

}  // namespace starling::stream
