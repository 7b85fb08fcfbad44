// SPDX-License-Identifier: Apache-2.0
// Parses times, durations and zone offsets, exact to the microsecond. The trace readers, the flags
// of the commands and the HTTP endpoint use these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace starling {

/// The unit of a time that is written as a number since the epoch. `by_magnitude` reads numbers
/// below 10^11 as seconds, below 10^14 as milliseconds, and others as microseconds. This rule is
/// unambiguous for dates from March 1973 to the year 5138.
enum class TimeUnit : std::uint8_t { by_magnitude, seconds, milliseconds, microseconds };

/// Parses "s", "ms", "us" or "auto" (by_magnitude). Returns std::nullopt for any other text.
std::optional<TimeUnit> time_unit_from_string(std::string_view text);

struct TimeRules {
  TimeUnit unit = TimeUnit::by_magnitude;
  /// For ISO 8601 times without a zone; east is positive. std::nullopt: a time needs a zone.
  std::optional<std::int64_t> utc_offset_us = 0;
  bool day_first = false;  ///< dates are DD/MM/YYYY instead of YYYY-MM-DD
};

/// Parses a time into microseconds since the epoch. Returns std::nullopt if `text` is not a time. A
/// time is either a number without exponent or an ISO 8601 time. Digits beyond the microsecond are
/// dropped.
///
/// An ISO 8601 time has a date, an optional clock time after `T` or a space, and an optional zone.
/// The date is `YYYY-MM-DD`, or `DD/MM/YYYY` if `rules.day_first` is set. The clock time is
/// `HH:MM[:SS[.fraction]]`. The zone is `Z`, `+HH:MM`, `+HHMM` or `+HH`; `-` may replace `+`.
/// Second 60 is the first second of the next minute.
std::optional<std::int64_t> parse_time_us(std::string_view text, const TimeRules& rules);

/// Parses an ISO 8601 time as parse_time_us does, if it has a zone. Returns std::nullopt for any
/// other text.
std::optional<std::int64_t> parse_iso_time_us(std::string_view text);

/// Parses "Z", "+HH:MM", "-HHMM" or "+HH" into microseconds east of Greenwich. Returns std::nullopt
/// for any other text.
std::optional<std::int64_t> parse_utc_offset_us(std::string_view text);

/// Parses a duration into microseconds: a whole or decimal number followed by the unit us, ms, s,
/// m or min, h or d. Returns std::nullopt for any other text.
std::optional<std::int64_t> parse_duration_us(std::string_view text);

}  // namespace starling
