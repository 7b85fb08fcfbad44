// Values at the end of a text, in the notations of the formats that are written.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace starling::sim {

/// As std::to_chars writes it; a float64 without format and precision is the shortest text that
/// reads back to the same number.
template <class... Format>
void append_number(std::string& text, Format... number) {
  // What any float64 needs with three decimals or in its shortest form without exponent, and more
  // than any integer does.
  constexpr std::size_t number_bytes_max = 400;
  const std::size_t size = text.size();
  text.resize(size + number_bytes_max);
  const auto [end, error] = std::to_chars(text.data() + size, text.data() + text.size(), number...);
  text.resize(static_cast<std::size_t>(end - text.data()));
}

/// RFC 4180: in quotes if need be.
void append_csv(std::string& text, std::string_view value);

/// For an attribute or an element's content; what XML 1.0 cannot hold becomes U+FFFD. Text that is
/// not UTF-8 is taken for Latin-1, here as in append_json.
void append_xml(std::string& text, std::string_view value);

/// With the quotes.
void append_json(std::string& text, std::string_view value);

/// YYYY-MM-DDTHH:MM:SS[.ffffff]Z.
void append_iso_time(std::string& text, std::int64_t time_us);

}  // namespace starling::sim
