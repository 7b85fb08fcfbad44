// SPDX-License-Identifier: Apache-2.0
// Reads numbers, times, durations and percent-encoded words: see value_text.hpp.
#include "starling/stream/http/value_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

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

/// Reads a text from left to right. After the first mismatch, `fits` is false.
struct Scan {
  std::string_view rest;
  bool fits = true;

  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (rest.empty() || !is_digit(rest.front())) {
        fits = false;
        return 0;
      }
      value = value * 10 + (rest.front() - '0');
      rest.remove_prefix(1);
    }
    return value;
  }
  bool take(char letter) {
    if (rest.empty() || rest.front() != letter) return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char letter) { fits = take(letter) && fits; }
};

std::int64_t scan_fraction_us(Scan& scan) {
  if (!scan.take('.')) return 0;
  std::int64_t us = 0;
  std::int64_t unit = 100'000;
  scan.fits = scan.fits && !scan.rest.empty() && is_digit(scan.rest.front());
  for (; !scan.rest.empty() && is_digit(scan.rest.front()); unit /= 10, scan.rest.remove_prefix(1))
    us += unit * (scan.rest.front() - '0');
  return us;
}

std::chrono::minutes scan_zone(Scan& scan) {
  if (scan.take('Z')) return {};
  const bool is_east = scan.take('+');
  if (!is_east) scan.expect('-');
  const int hours = scan.digits(2);
  scan.expect(':');
  const int minutes = scan.digits(2);
  scan.fits = scan.fits && hours < 24 && minutes < 60;
  return std::chrono::minutes((is_east ? 1 : -1) * (hours * 60 + minutes));
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

std::optional<std::int64_t> parse_iso_time_us(std::string_view text) {
  using namespace std::chrono;
  Scan scan{text};
  const year year_read{scan.digits(4)};
  scan.expect('-');
  const month month_read{static_cast<unsigned>(scan.digits(2))};
  scan.expect('-');
  const year_month_day date{year_read, month_read, day{static_cast<unsigned>(scan.digits(2))}};
  scan.expect('T');
  const int hour = scan.digits(2);
  scan.expect(':');
  const int minute = scan.digits(2);
  scan.expect(':');
  const int second = scan.digits(2);
  const std::int64_t fraction_us = scan_fraction_us(scan);
  const minutes zone = scan_zone(scan);
  if (!scan.fits || !scan.rest.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  const auto time = sys_days(date) + hours(hour) + minutes(minute) + seconds(second) - zone;
  return duration_cast<microseconds>(time.time_since_epoch()).count() + fraction_us;
}

std::optional<std::int64_t> parse_duration_us(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> units{{{"us", 1},
                                                                            {"ms", 1000},
                                                                            {"s", 1'000'000},
                                                                            {"m", 60'000'000},
                                                                            {"h", 3'600'000'000},
                                                                            {"d", 86'400'000'000}}};
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const auto count = parse_int64(text.substr(0, digits));
  if (!count) return std::nullopt;
  for (const auto& [unit, unit_us] : units)
    if (text.substr(digits) == unit && *count <= std::numeric_limits<std::int64_t>::max() / unit_us)
      return *count * unit_us;
  return std::nullopt;
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
