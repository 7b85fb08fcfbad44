// SPDX-License-Identifier: Apache-2.0
// Parses and writes times without the locale and without floating point. Only durations are
// computed in float64. See time_text.hpp.
#include "starling/knn/base/time_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ratio>
#include <string>
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
  std::string_view rest() const { return rest_; }

  bool take(char byte) {
    if (front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_spaces() {
    const std::size_t count = std::min(rest_.find_first_not_of(' '), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }

  /// Consumes `word`, which has capital letters. The text may have small letters instead.
  bool take_word(std::string_view word) {
    if (rest_.size() < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i)
      if ((rest_[i] & ~0x20) != word[i]) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// Consumes a number of one or two digits and returns its value.
  std::optional<int> one_or_two_digits() {
    const std::string_view run = digit_run();
    if (run.empty() || run.size() > 2) return std::nullopt;
    return run.size() == 1 ? run[0] - '0' : (run[0] - '0') * 10 + (run[1] - '0');
  }

  bool take_any(std::string_view bytes) {
    return std::ranges::any_of(bytes, [this](char byte) { return take(byte); });
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

/// Returns the length of a unit in microseconds. The caller handles nanoseconds.
std::int64_t unit_us(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::seconds:
      return second_us;
    case TimeUnit::milliseconds:
      return 1000;
    default:
      return 1;
  }
}

TimeUnit unit_of_magnitude(std::uint64_t magnitude) {
  if (magnitude < 100'000'000'000) return TimeUnit::seconds;
  if (magnitude < 100'000'000'000'000) return TimeUnit::milliseconds;
  return magnitude < 100'000'000'000'000'000 ? TimeUnit::microseconds : TimeUnit::nanoseconds;
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
  if (unit == TimeUnit::by_magnitude) unit = unit_of_magnitude(magnitude);
  if (unit == TimeUnit::nanoseconds) return static_cast<std::int64_t>(magnitude / 1000);
  const std::int64_t unit_length_us = unit_us(unit);
  constexpr auto limit = std::uint64_t{1} << 62;
  if (magnitude > limit / static_cast<std::uint64_t>(unit_length_us)) return std::nullopt;
  return static_cast<std::int64_t>(magnitude) * unit_length_us +
         millionths(fraction) / (second_us / unit_length_us);
}

/// Parses [+-]digits[.digits][e[+-]digits] and nothing else.
std::optional<std::int64_t> parse_plain_number_us(std::string_view text, TimeUnit unit) {
  Cursor cursor(text);
  const bool negative = cursor.front() == '-';
  cursor.take_any("+-");
  std::string_view whole = cursor.digit_run();
  std::string_view fraction = cursor.take('.') ? cursor.digit_run() : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  std::string digits;
  if (cursor.take_any("eE")) {
    const bool is_small = cursor.front() == '-';
    cursor.take_any("+-");
    const std::string_view exponent = cursor.digit_run();
    constexpr int shift_max = 40;
    int shift = 0;
    const auto [end, error] =
        std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift);
    if (exponent.empty() || error != std::errc() || shift > shift_max) return std::nullopt;
    // Moves the decimal point in the text, so that no digit is lost.
    const auto places = static_cast<std::size_t>(shift);
    digits.append(is_small ? places : 0, '0').append(whole).append(fraction);
    digits.append(is_small ? 0 : places, '0');
    const std::size_t point = is_small ? whole.size() : whole.size() + places;
    whole = std::string_view(digits).substr(0, point);
    fraction = std::string_view(digits).substr(point);
    whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  }
  if (!cursor.done()) return std::nullopt;
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

/// Parses YYYY-MM-DD.
std::optional<std::int64_t> parse_iso_date_us(Cursor& cursor) {
  const auto year = cursor.digits(4);
  if (!year || !cursor.take('-')) return std::nullopt;
  const auto month = cursor.digits(2);
  if (!month || !cursor.take('-')) return std::nullopt;
  const auto day = cursor.digits(2);
  return day ? date_us(*year, *month, *day) : std::nullopt;
}

struct Date {
  std::int64_t midnight_us = 0;
  bool is_basic = false;  ///< YYYYMMDD
};

/// Parses a date in any form of parse_time_us().
std::optional<Date> parse_date_us(Cursor& cursor, DateOrder order) {
  const auto made = [](std::optional<std::int64_t> midnight_us, bool is_basic = false) {
    return midnight_us ? std::optional(Date{*midnight_us, is_basic}) : std::nullopt;
  };
  constexpr std::size_t year_digits = 4;
  constexpr std::size_t basic_digits = 8;
  Cursor ahead = cursor;
  const std::size_t first_digits = ahead.digit_run().size();
  if (first_digits == basic_digits) {
    if (ahead.front() != 'T' && ahead.front() != 't') return std::nullopt;
    const auto year = cursor.digits(4);
    const auto month = cursor.digits(2);
    const auto day = cursor.digits(2);
    return made(date_us(*year, *month, *day), true);
  }
  const char separator = ahead.front();
  if (separator != '-' && separator != '/' && separator != '.') return std::nullopt;
  if (first_digits == year_digits) {
    const auto year = cursor.digits(year_digits);
    cursor.take(separator);
    const auto month = cursor.one_or_two_digits();
    if (!month || separator == '.' || !cursor.take(separator)) return std::nullopt;
    const auto day = cursor.one_or_two_digits();
    return day ? made(date_us(*year, *month, *day)) : std::nullopt;
  }
  if (separator == '.') order = DateOrder::day_first;
  const auto first = cursor.one_or_two_digits();
  if (!first || order == DateOrder::unknown || !cursor.take(separator)) return std::nullopt;
  const auto second = cursor.one_or_two_digits();
  if (!second || !cursor.take(separator)) return std::nullopt;
  const auto year = cursor.digits(year_digits);
  if (!year) return std::nullopt;
  return made(order == DateOrder::day_first ? date_us(*year, *second, *first)
                                            : date_us(*year, *first, *second));
}

/// Parses the rest of a clock time, [SS[.fraction]], after hours and minutes.
std::optional<std::int64_t> parse_seconds_us(Cursor& cursor) {
  const auto second = cursor.digits(2);
  if (!second || *second > 60) return std::nullopt;
  std::string_view fraction;
  if (cursor.take_any(".,")) {
    fraction = cursor.digit_run();
    if (fraction.empty()) return std::nullopt;
  }
  return *second * second_us + millionths(fraction);
}

/// Parses HH:MM[:SS[.fraction]], or HHMM[SS[.fraction]] if `is_basic` is set.
std::optional<std::int64_t> parse_clock_us(Cursor& cursor, bool is_basic = false) {
  const auto hour = cursor.rest().substr(0, 2).find(':') == std::string_view::npos
                        ? cursor.digits(2)
                        : cursor.digits(1);
  if (!hour || *hour > 23) return std::nullopt;
  const bool has_colon = cursor.take(':');
  if (!has_colon && !is_basic) return std::nullopt;
  const auto minute = cursor.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  const std::int64_t whole_us = *hour * hour_us + *minute * minute_us;
  if (has_colon ? !cursor.take(':') : !is_digit(cursor.front())) return whole_us;
  const auto seconds_us = parse_seconds_us(cursor);
  return seconds_us ? std::optional(whole_us + *seconds_us) : std::nullopt;
}

/// Consumes AM or PM, if it follows a clock time, and converts the time to 24 hours. Returns false
/// if the hour is not 1 to 12.
bool take_half_of_day(Cursor& cursor, std::int64_t& clock_us) {
  Cursor ahead = cursor;
  ahead.take_spaces();
  const bool is_morning = ahead.take_word("AM");
  if (!is_morning && !ahead.take_word("PM")) return true;
  cursor = ahead;
  constexpr std::int64_t noon_us = 12 * hour_us;
  if (clock_us < hour_us || clock_us >= noon_us + hour_us) return false;
  clock_us = clock_us % noon_us + (is_morning ? 0 : noon_us);
  return true;
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
  const auto date = parse_date_us(cursor, rules.date_order);
  if (!date) return std::nullopt;
  std::int64_t clock_us = 0;
  const bool has_spaces = cursor.take_spaces();
  if (cursor.take_any("Tt") || (has_spaces && is_digit(cursor.front()))) {
    const auto parsed = parse_clock_us(cursor, date->is_basic);
    if (!parsed) return std::nullopt;
    clock_us = *parsed;
    if (!take_half_of_day(cursor, clock_us)) return std::nullopt;
    cursor.take_spaces();
  }
  std::optional<std::int64_t> offset_us = rules.utc_offset_us;
  if (!cursor.done())
    offset_us = cursor.take_word("UTC") || cursor.take_word("GMT") ? 0 : parse_offset_us(cursor);
  if (!offset_us || !cursor.done()) return std::nullopt;
  return date->midnight_us + clock_us - *offset_us;
}

/// Parses [days:]HH:MM:SS[.fraction].
std::optional<std::int64_t> parse_clock_from_zero_us(std::string_view text) {
  std::int64_t days_us = 0;
  if (std::ranges::count(text, ':') == 3) {
    const std::string_view days = text.substr(0, text.find(':'));
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(days.data(), days.data() + days.size(), count);
    constexpr std::int64_t days_max = 1'000'000;
    if (error != std::errc() || end != days.data() + days.size() || count < 0 || count > days_max)
      return std::nullopt;
    days_us = count * day_us;
    text.remove_prefix(days.size() + 1);
  }
  if (std::ranges::count(text, ':') != 2) return std::nullopt;
  Cursor cursor(text);
  const auto clock_us = parse_clock_us(cursor);
  return clock_us && cursor.done() ? std::optional(days_us + *clock_us) : std::nullopt;
}

}  // namespace

std::optional<TimeUnit> time_unit_from_string(std::string_view text) {
  if (text == "auto") return TimeUnit::by_magnitude;
  if (text == "s") return TimeUnit::seconds;
  if (text == "ms") return TimeUnit::milliseconds;
  if (text == "us") return TimeUnit::microseconds;
  if (text == "ns") return TimeUnit::nanoseconds;
  return std::nullopt;
}

std::optional<DateOrder> date_order_from_string(std::string_view text) {
  if (text == "day-first") return DateOrder::day_first;
  return text == "month-first" ? std::optional(DateOrder::month_first) : std::nullopt;
}

std::optional<std::int64_t> parse_time_us(std::string_view text, const TimeRules& rules) {
  if (const auto time_us = parse_plain_number_us(text, rules.unit)) return time_us;
  if (rules.has_clock_from_zero)
    if (const auto time_us = parse_clock_from_zero_us(text)) return time_us;
  return parse_date_time_us(text, rules);
}

std::optional<std::int64_t> parse_iso_time_us(std::string_view text) {
  Cursor cursor(text);
  const auto midnight_us = parse_iso_date_us(cursor);
  if (!midnight_us) return std::nullopt;
  std::optional<std::int64_t> clock_us = 0;
  if (cursor.take_any("Tt ")) {
    constexpr std::size_t hour_digits = 2;
    if (cursor.rest().substr(0, hour_digits).find(':') != std::string_view::npos)
      return std::nullopt;
    clock_us = parse_clock_us(cursor);
  }
  if (!clock_us) return std::nullopt;
  const auto offset_us = parse_offset_us(cursor);
  if (!offset_us || !cursor.done()) return std::nullopt;
  return *midnight_us + *clock_us - *offset_us;
}

std::string iso_time_text(std::int64_t time_us, TimeDigits digits) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(time_us)};
  const auto day = floor<std::chrono::days>(time);
  // The years of std::chrono end at 32767. The calendar repeats itself after 400 years.
  constexpr int cycle_years = 400;
  using Cycles = std::chrono::duration<std::int64_t, std::ratio<146'097 * 86'400LL>>;
  const Cycles cycles = floor<Cycles>(day.time_since_epoch());
  const std::chrono::year_month_day date(day - std::chrono::days(cycles));
  const std::chrono::hh_mm_ss clock(time - day);
  const auto fraction_us = static_cast<int>(clock.subseconds().count());
  if (digits == TimeDigits::shortest)
    digits = fraction_us == 0 ? TimeDigits::seconds : TimeDigits::microseconds;
  char buffer[64];
  const int size = std::snprintf(
      buffer, sizeof(buffer), "%04d-%02u-%02uT%02d:%02d:%02d.%06d",
      static_cast<int>(date.year()) + cycle_years * static_cast<int>(cycles.count()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), fraction_us);
  std::string text(buffer, static_cast<std::size_t>(size - 6 + static_cast<int>(digits)));
  if (digits == TimeDigits::seconds) text.pop_back();  // the point
  return text + 'Z';
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

std::string duration_text(std::int64_t duration_us) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units{
      {{"d", day_us}, {"h", hour_us}, {"min", minute_us}, {"s", second_us}, {"ms", 1000}}};
  if (duration_us == 0) return "0s";
  for (const auto& [unit, length_us] : units)
    if (duration_us % length_us == 0)
      return std::to_string(duration_us / length_us) + std::string(unit);
  return std::to_string(duration_us) + "us";
}

}  // namespace starling
