// Times, durations and zone offsets as people write them, exactly to the microsecond. Used by the
// trace readers and by the flags of `starling replay`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace starling::sim {

/// How a bare number counts from the epoch. `by_magnitude`: below 10^11 seconds, below 10^14
/// milliseconds, else microseconds, which tells dates from March 1973 to the year 5138 apart.
enum class TimeUnit : std::uint8_t { by_magnitude, seconds, milliseconds, microseconds };

/// "s", "ms", "us" or "auto".
std::optional<TimeUnit> time_unit_from_string(std::string_view text);

struct TimeRules {
  TimeUnit unit = TimeUnit::by_magnitude;
  std::int64_t utc_offset_us = 0;  ///< of ISO 8601 times without a zone
  bool day_first = false;          ///< dates are DD/MM/YYYY instead of YYYY-MM-DD
};

/// Microseconds since the epoch, from a number in plain decimals (digits beyond the microsecond are
/// dropped), or from ISO 8601: `YYYY-MM-DD`, with `T` or a space and `HH:MM[:SS[.fraction]]`, with
/// `Z`, `+HH:MM`, `+HHMM` or `+HH`. A date is `DD/MM/YYYY` if the rules say so. A 60th second is
/// the next minute's first.
std::optional<std::int64_t> parse_time_us(std::string_view text, const TimeRules& rules);

/// "Z", "+HH:MM", "-HHMM", "+HH", in microseconds east of Greenwich.
std::optional<std::int64_t> parse_utc_offset_us(std::string_view text);

/// A whole or decimal number with unit: us, ms, s, m, h or d.
std::optional<std::int64_t> parse_duration_us(std::string_view text);

}  // namespace starling::sim
