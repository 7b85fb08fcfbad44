// SPDX-License-Identifier: Apache-2.0
// Parses with std::from_chars: see number_text.hpp.
#include "starling/sim/data/files/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace starling::sim {

std::string_view trim(std::string_view text) {
  const auto is_space = [](char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
  };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_missing(std::string_view text) {
  text = trim(text);
  if (text.empty()) return true;
  const char first = text.front();
  if (first != 'n' && first != 'N' && first != '\\' && first != '-') return false;
  constexpr std::array<std::string_view, 7> words{"nan", "na", "n/a", "null", "none", "nil", "\\n"};
  const auto equals = [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) {
      return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
    });
  };
  return text.find_first_not_of('-') == std::string_view::npos ||
         std::ranges::any_of(words, equals);
}

std::optional<double> parse_number(std::string_view text, DecimalMark mark) {
  text = trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  if (mark == DecimalMark::comma) {
    const std::size_t comma = text.find(',');
    if (comma != std::string_view::npos) {
      std::string changed(text);
      changed[comma] = '.';
      return text.find('.') == std::string_view::npos ? parse_number(changed) : std::nullopt;
    }
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool has_decimal_comma(std::string_view text) {
  text = trim(text);
  constexpr std::size_t digits_of_thousands = 3;
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && text.size() - comma - 1 != digits_of_thousands &&
         parse_number(text, DecimalMark::comma).has_value();
}

std::optional<std::uint32_t> parse_tag_bits(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  std::uint32_t tags = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), tags, is_hexadecimal ? 16 : 10);
  if (error == std::errc() && end == text.data() + text.size()) return tags;
  const auto number = is_hexadecimal ? std::nullopt : parse_number(text);
  if (!number || !(*number >= 0 && *number <= std::numeric_limits<std::uint32_t>::max()) ||
      *number != std::floor(*number))
    return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::string_view with_decimal_point(std::string_view text, DecimalMark mark, std::string& changed) {
  const std::size_t comma = mark == DecimalMark::comma ? text.find(',') : std::string_view::npos;
  if (comma == std::string_view::npos || text.find('.') != std::string_view::npos) return text;
  changed = text;
  changed[comma] = '.';
  return changed;
}

}  // namespace starling::sim
