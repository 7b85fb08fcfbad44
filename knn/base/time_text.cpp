// SPDX-License-Identifier: Apache-2.0
// Parses times without the locale and without floating point. Only durations are computed in
// float64. See time_text.hpp.
#include "starling/knn/base/time_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

namespace starling {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t minute_us = 60 * second_us;
constexpr std::int64_t hour_us = 60 * minute_us;
constexpr std::int64_t day_us = 24 * hour_us;

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// Consumes a text from the left.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  char front() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool take(char byte) {
    if (front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_any(std::string_view bytes) {
    if (rest_.empty() || bytes.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Consumes exactly `count` digits and returns their value. Returns std::nullopt if there are
  /// fewer digits.
  std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count || !std::all_of(rest_.begin(), rest_.begin() + count, is_digit))
      return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + (rest_[i] - '0');
    rest_.remove_prefix(count);
    return value;
  }

  std::string_view digit_run() {
    std::size_t count = 0;
    while (count < rest_.size() && is_digit(rest_[count])) ++count;
    const std::string_view run = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return run;
  }

 private:
  std::string_view rest_;
};

/// Returns the digits after a decimal point as millionths. Digits beyond the sixth are dropped.
std::int64_t millionths(std::string_view digits) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < 6; ++i)
    value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return value;
}

std::int64_t unit_us(TimeUnit unit, std::uint64_t magnitude) {
  switch (unit) {
    case TimeUnit::seconds:
      return second_us;
    case TimeUnit::milliseconds:
      return 1000;
    case TimeUnit::microseconds:
      return 1;
    case TimeUnit::by_magnitude:
      break;
  }
  if (magnitude < 100'000'000'000) return second_us;
  return magnitude < 100'000'000'000'000 ? 1000 : 1;
}

/// Converts the number `whole`.`fraction` from `unit` to microseconds. Returns std::nullopt if the
/// number is too large. Computes with integers, so that no microsecond is lost.
std::optional<std::int64_t> scale(std::string_view whole, std::string_view fraction,
                                  TimeUnit unit) {
  std::uint64_t magnitude = 0;
  if (!whole.empty()) {
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), magnitude);
    if (error != std::errc()) return std::nullopt;
  }
  const std::int64_t unit_length_us = unit_us(unit, magnitude);
  constexpr auto limit = std::uint64_t{1} << 62;
  if (magnitude > limit / static_cast<std::uint64_t>(unit_length_us)) return std::nullopt;
  return static_cast<std::int64_t>(magnitude) * unit_length_us +
         millionths(fraction) / (second_us / unit_length_us);
}

/// Parses [-]digits[.digits] and nothing else.
std::optional<std::int64_t> parse_plain_number_us(std::string_view text, TimeUnit unit) {
  Cursor cursor(text);
  const bool negative = cursor.take('-');
  const std::string_view whole = cursor.digit_run();
  const std::string_view fraction = cursor.take('.') ? cursor.digit_run() : std::string_view();
  if ((whole.empty() && fraction.empty()) || !cursor.done()) return std::nullopt;
  const std::optional<std::int64_t> value_us = scale(whole, fraction, unit);
  if (!value_us) return std::nullopt;
  return negative ? -*value_us : *value_us;
}

std::optional<std::int64_t> date_us(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * day_us;
}

/// Parses YYYY-MM-DD, or DD/MM/YYYY if `day_first` is set.
std::optional<std::int64_t> parse_date_us(Cursor& cursor, bool day_first) {
  const char separator = day_first ? '/' : '-';
  const auto first = cursor.digits(day_first ? 2 : 4);
  if (!first || !cursor.take(separator)) return std::nullopt;
  const auto month = cursor.digits(2);
  if (!month || !cursor.take(separator)) return std::nullopt;
  const auto last = cursor.digits(day_first ? 4 : 2);
  if (!last) return std::nullopt;
  return day_first ? date_us(*last, *month, *first) : date_us(*first, *month, *last);
}

/// Parses HH:MM[:SS[.fraction]].
std::optional<std::int64_t> parse_clock_us(Cursor& cursor) {
  const auto hour = cursor.digits(2);
  if (!hour || *hour > 23 || !cursor.take(':')) return std::nullopt;
  const auto minute = cursor.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  const std::int64_t whole_us = *hour * hour_us + *minute * minute_us;
  if (!cursor.take(':')) return whole_us;
  const auto second = cursor.digits(2);
  if (!second || *second > 60) return std::nullopt;
  std::string_view fraction;
  if (cursor.take_any(".,")) {
    fraction = cursor.digit_run();
    if (fraction.empty()) return std::nullopt;
  }
  return whole_us + *second * second_us + millionths(fraction);
}

std::optional<std::int64_t> parse_offset_us(Cursor& cursor) {
  if (cursor.take_any("Zz")) return 0;
  const bool west = cursor.front() == '-';
  if (!cursor.take_any("+-")) return std::nullopt;
  const auto hours = cursor.digits(2);
  if (!hours || *hours > 23) return std::nullopt;
  int minutes = 0;
  const bool colon = cursor.take(':');
  if (colon || is_digit(cursor.front())) {
    const auto parsed = cursor.digits(2);
    if (!parsed || *parsed > 59) return std::nullopt;
    minutes = *parsed;
  }
  const std::int64_t offset_us = *hours * hour_us + minutes * minute_us;
  return west ? -offset_us : offset_us;
}

std::optional<std::int64_t> parse_date_time_us(std::string_view text, const TimeRules& rules) {
  Cursor cursor(text);
  const auto midnight_us = parse_date_us(cursor, rules.day_first);
  if (!midnight_us) return std::nullopt;
  std::int64_t clock_us = 0;
  if (cursor.take_any("Tt ")) {
    const auto parsed = parse_clock_us(cursor);
    if (!parsed) return std::nullopt;
    clock_us = *parsed;
  }
  std::optional<std::int64_t> offset_us = rules.utc_offset_us;
  if (!cursor.done()) offset_us = parse_offset_us(cursor);
  if (!offset_us || !cursor.done()) return std::nullopt;
  return *midnight_us + clock_us - *offset_us;
}

}  // namespace

std::optional<TimeUnit> time_unit_from_string(std::string_view text) {
  if (text == "auto") return TimeUnit::by_magnitude;
  if (text == "s") return TimeUnit::seconds;
  if (text == "ms") return TimeUnit::milliseconds;
  if (text == "us") return TimeUnit::microseconds;
  return std::nullopt;
}

std::optional<std::int64_t> parse_time_us(std::string_view text, const TimeRules& rules) {
  if (const auto time_us = parse_plain_number_us(text, rules.unit)) return time_us;
  return parse_date_time_us(text, rules);
}

std::optional<std::int64_t> parse_iso_time_us(std::string_view text) {
  return parse_date_time_us(text, {.utc_offset_us = std::nullopt});
}

std::optional<std::int64_t> parse_utc_offset_us(std::string_view text) {
  Cursor cursor(text);
  const auto offset_us = parse_offset_us(cursor);
  return cursor.done() ? offset_us : std::nullopt;
}

std::optional<std::int64_t> parse_duration_us(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> units{{{"us", 1},
                                                                            {"ms", 1000},
                                                                            {"s", second_us},
                                                                            {"m", minute_us},
                                                                            {"min", minute_us},
                                                                            {"h", hour_us},
                                                                            {"d", day_us}}};
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || !(count >= 0)) return std::nullopt;
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [unit, length_us] : units) {
    const double duration_us = count * static_cast<double>(length_us);
    if (name == unit && duration_us < 0x1p61) return std::llround(duration_us);
  }
  return std::nullopt;
}

}  // namespace starling
