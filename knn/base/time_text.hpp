// SPDX-License-Identifier: Apache-2.0
// Parses and writes times and durations, and parses zone offsets, exact to the microsecond. Traces,
// results, the flags and tables of the commands and the server use these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace starling {

/// The unit of a time that is written as a number since the epoch. `by_magnitude` reads numbers
/// below 10^11 as seconds, below 10^14 as milliseconds, below 10^17 as microseconds, and others as
/// nanoseconds. This rule is unambiguous for dates from March 1973 to the year 5138.
enum class TimeUnit : std::uint8_t {
  by_magnitude,
  seconds,
  milliseconds,
  microseconds,
  nanoseconds
};

/// Parses "s", "ms", "us", "ns" or "auto" (by_magnitude). Returns std::nullopt for any other text.
std::optional<TimeUnit> time_unit_from_string(std::string_view text);

/// The order of day and month in dates whose year comes last.
enum class DateOrder : std::uint8_t {
  unknown,      ///< only dates with points are times; they begin with the day
  day_first,    ///< 31/12/2022
  month_first,  ///< 12/31/2022
};

/// Parses "day-first" or "month-first". Returns std::nullopt for any other text.
std::optional<DateOrder> date_order_from_string(std::string_view text);

struct TimeRules {
  TimeUnit unit = TimeUnit::by_magnitude;
  /// The zone of a time without a zone; east is positive. std::nullopt: every time needs a zone.
  std::optional<std::int64_t> utc_offset_us = 0;
  DateOrder date_order = DateOrder::unknown;
  /// If true, a clock time without a date counts from 0. A number of days may stand before it. SUMO
  /// writes 00:01:30 and 1:00:00:10.
  bool has_clock_from_zero = false;
};

/// Parses a time into microseconds since the epoch. Returns std::nullopt if `text` is not a time. A
/// time is either a number, perhaps with an exponent, or a date with a clock time and a zone.
/// Digits beyond the microsecond are dropped.
///
/// The date is `YYYY-MM-DD`, `YYYY/MM/DD`, or, before `T`, `YYYYMMDD`. If the year comes last, the
/// date is `DD.MM.YYYY`, or has `/` or `-` and the order of rules.date_order. After `T` or spaces,
/// a clock time may follow: `HH:MM[:SS[.fraction]]`, or `HHMM[SS[.fraction]]` after `YYYYMMDD`. AM
/// or PM may follow the clock time. Days, months and hours may have one digit, except in `YYYYMMDD`
/// and `HHMM`. The zone is `Z`, `UTC`, `GMT`, `+HH:MM`, `+HHMM` or `+HH`; `-` may replace `+`, and
/// spaces may stand before the zone. Second 60 is the first second of the next minute.
std::optional<std::int64_t> parse_time_us(std::string_view text, const TimeRules& rules);

/// Parses an ISO 8601 time with a zone: `YYYY-MM-DD`, perhaps `T` or a space and
/// `HH:MM[:SS[.fraction]]`, and `Z`, `+HH:MM`, `+HHMM` or `+HH`. Returns std::nullopt for any other
/// text.
std::optional<std::int64_t> parse_iso_time_us(std::string_view text);

/// The number of digits after the decimal point of the seconds. Further digits are dropped.
enum class TimeDigits : std::uint8_t {
  seconds = 0,
  milliseconds = 3,
  microseconds = 6,
  shortest,  ///< none if the fraction is 0, else six
};

/// Returns a time as YYYY-MM-DDTHH:MM:SS[.fraction]Z. Years outside 0000 to 9999 have a minus or
/// more digits, which ISO 8601 and parse_time_us() do not allow.
std::string iso_time_text(std::int64_t time_us, TimeDigits digits = TimeDigits::shortest);

/// Parses "Z", "+HH:MM", "-HHMM" or "+HH" into microseconds east of Greenwich. Returns std::nullopt
/// for any other text.
std::optional<std::int64_t> parse_utc_offset_us(std::string_view text);

/// Parses a duration into microseconds: a whole or decimal number followed by the unit us, ms, s,
/// m or min, h or d. Returns std::nullopt for any other text.
std::optional<std::int64_t> parse_duration_us(std::string_view text);

/// Returns a duration as parse_duration_us() reads it: a whole number of the largest unit that
/// keeps it whole, such as "90s" or "1h".
std::string duration_text(std::int64_t duration_us);

}  // namespace starling
