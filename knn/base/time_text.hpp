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
  unknown,      ///< such dates are no times, except those with points, which begin with the day
  day_first,    ///< 31/12/2022
  month_first,  ///< 12/31/2022
};

/// Parses "day-first" or "month-first". Returns std::nullopt for any other text.
std::optional<DateOrder> date_order_from_string(std::string_view text);

struct TimeRules {
  TimeUnit unit = TimeUnit::by_magnitude;
  /// For ISO 8601 times without a zone; east is positive. std::nullopt: a time needs a zone.
  std::optional<std::int64_t> utc_offset_us = 0;
  DateOrder date_order = DateOrder::unknown;
  /// Clock times without a date, and with a number of days before them, count from 0: SUMO writes
  /// 00:01:30 and 1:00:00:10.
  bool has_clock_from_zero = false;
};

/// Parses a time into microseconds since the epoch. Returns std::nullopt if `text` is not a time. A
/// time is either a number, perhaps with an exponent, or a date with a clock time and a zone.
/// Digits beyond the microsecond are dropped.
///
/// The date is `YYYY-MM-DD`, `YYYY/MM/DD`, or `YYYYMMDD` before `T`; with a year at its end it is
/// `DD.MM.YYYY` or, as rules.date_order says, of days, months and year with `/` or `-`. After `T`
/// or spaces may follow a clock time: `HH:MM[:SS[.fraction]]` or, after `YYYYMMDD`,
/// `HHMM[SS[.fraction]]`, and AM or PM. Days, months and hours may have one digit where a separator
/// ends them. The zone, for which spaces may stand first, is `Z`, `UTC`, `GMT`, `+HH:MM`, `+HHMM`
/// or `+HH`; `-` may replace
/// `+`. Second 60 is the first second of the next minute.
std::optional<std::int64_t> parse_time_us(std::string_view text, const TimeRules& rules);

/// Parses an ISO 8601 time with a zone: `YYYY-MM-DD`, perhaps `T` or a space and
/// `HH:MM[:SS[.fraction]]`, and `Z`, `+HH:MM`, `+HHMM` or `+HH`. Returns std::nullopt for any other
/// text.
std::optional<std::int64_t> parse_iso_time_us(std::string_view text);

/// How much of a second the text of a time has. Further digits are dropped.
enum class TimeDigits : std::uint8_t {
  seconds = 0,
  milliseconds = 3,
  microseconds = 6,
  shortest,  ///< those of microseconds, or those of seconds if they say the same
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
