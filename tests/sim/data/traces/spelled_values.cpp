// SPDX-License-Identifier: Apache-2.0
// Writes numbers, tag bits and times: see spelled_values.hpp.
#include "tests/sim/data/traces/spelled_values.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace starling::sim {

using test::Random;

namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t minute_us = 60 * second_us;
constexpr std::int64_t hour_us = 60 * minute_us;
constexpr std::int64_t day_us = 24 * hour_us;

std::string random_digits(Random& random, std::size_t count) {
  std::string digits;
  while (digits.size() < count) digits += static_cast<char>('0' + random.below(10));
  return digits;
}

/// Returns the number with at least `width` digits.
std::string padded(std::int64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

std::string with_exponent(Random& random, const Decimal& number, char mark) {
  const std::size_t point = 1 + random.below(number.digits.size());
  const int exponent =
      static_cast<int>(number.digits.size() - number.decimals) - static_cast<int>(point);
  std::string text = number.digits.substr(0, point);
  if (point < number.digits.size()) text += mark + number.digits.substr(point);
  text += random.chance(0.5) ? 'e' : 'E';
  if (exponent < 0)
    text += '-';
  else if (random.chance(0.5))
    text += '+';
  return text + padded(std::abs(exponent), 1 + random.below(2));
}

/// Returns the time as a number; some have digits beyond the microsecond, which readers drop.
Decimal number_of_time(Random& random, std::int64_t time_us, TimeUnit unit) {
  Decimal number{.is_negative = time_us < 0, .digits = std::to_string(std::abs(time_us))};
  const std::size_t beyond = time_us >= 0 && random.chance(0.1) ? 1 + random.below(3) : 0;
  number.digits += random_digits(random, beyond);
  std::size_t decimals = beyond;
  if (unit == TimeUnit::seconds) decimals += 6;
  if (unit == TimeUnit::milliseconds) decimals += 3;
  if (unit == TimeUnit::nanoseconds) {
    number.digits.append(3 - beyond, '0');
    decimals = 0;
  }
  number.decimals = decimals;
  if (number.digits.size() <= decimals)
    number.digits.insert(0, decimals + 1 - number.digits.size(), '0');
  for (; number.decimals > 0 && number.digits.back() == '0'; --number.decimals)
    number.digits.pop_back();
  return number;
}

std::string date_text(Random& random, std::int64_t days, const TimeStyle& style) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  const std::size_t width = style.form == TimeForm::basic || random.chance(0.7) ? 2 : 1;
  const std::string year = padded(static_cast<int>(date.year()), 4);
  const std::string month = padded(static_cast<unsigned>(date.month()), width);
  const std::string day = padded(static_cast<unsigned>(date.day()), width);
  const std::string mark = random.chance(0.5) ? "-" : "/";
  if (style.form == TimeForm::basic) return year + month + day;
  if (style.form == TimeForm::points) return day + '.' + month + '.' + year;
  if (style.form == TimeForm::date) return year + mark + month + mark + day;
  if (style.order == DateOrder::month_first) return month + mark + day + mark + year;
  return day + mark + month + mark + year;
}

std::string fraction_text(Random& random, std::int64_t fraction_us, char mark) {
  std::string digits = padded(fraction_us, 6);
  if (random.chance(0.2)) return mark + digits + random_digits(random, 1 + random.below(3));
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits.empty() ? "" : mark + digits;
}

struct Clock {
  std::int64_t of_day_us = 0;
  bool is_leap = false;  ///< second 60 of this minute, and not second 0
  bool is_basic = false;
  bool needs_seconds = false;
  bool is_half_day = false;
};

std::string clock_text(Random& random, const Clock& clock, char mark) {
  const std::int64_t seconds = clock.is_leap ? 60 : clock.of_day_us / second_us % 60;
  const std::int64_t fraction_us = clock.of_day_us % second_us;
  std::int64_t hour = clock.of_day_us / hour_us;
  const std::string half = hour < 12 ? " AM" : " PM";
  if (clock.is_half_day) hour = hour % 12 == 0 ? 12 : hour % 12;
  const std::string colon = clock.is_basic ? "" : ":";
  std::string text = padded(hour, clock.is_basic || random.chance(0.8) ? 2 : 1) + colon +
                     padded(clock.of_day_us / minute_us % 60, 2);
  if (seconds != 0 || fraction_us != 0 || clock.needs_seconds || random.chance(0.6))
    text += colon + padded(seconds, 2) + fraction_text(random, fraction_us, mark);
  return clock.is_half_day ? text + half : text;
}

std::string zone_text(Random& random, std::int64_t offset_us, bool is_narrow) {
  const std::string blank = !is_narrow && random.chance(0.3) ? " " : "";
  constexpr std::array zero_names{"Z", "UTC", "GMT"};
  if (offset_us == 0 && random.chance(0.7)) return blank + zero_names[random.below(3)];
  const std::int64_t minutes = std::abs(offset_us) / minute_us;
  std::string text = blank + (offset_us < 0 ? '-' : '+') + padded(minutes / 60, 2);
  if (minutes % 60 == 0 && random.chance(0.2)) return text;
  return text + (random.chance(0.5) ? ":" : "") + padded(minutes % 60, 2);
}

SpelledTime spelled_date(Random& random, std::int64_t time_us, const TimeStyle& style) {
  constexpr std::array offsets_min{0, 0, 60, 330, -210, -480, 345};
  const bool has_zone = !style.is_apart && random.chance(0.5);
  const std::int64_t offset_us =
      has_zone ? offsets_min[random.below(offsets_min.size())] * minute_us : style.utc_offset_us;
  std::int64_t local_us = time_us + offset_us;
  Clock clock{.is_leap = local_us / second_us % 60 == 0 && local_us > 0 && random.chance(0.05)};
  if (clock.is_leap) local_us -= minute_us;
  clock.of_day_us = (local_us % day_us + day_us) % day_us;
  const char mark = style.has_comma ? ',' : '.';
  const std::string date = date_text(random, (local_us - clock.of_day_us) / day_us, style);
  if (style.is_apart) {
    clock.is_basic = clock.needs_seconds = random.chance(0.2);
    return {date, clock_text(random, clock, mark)};
  }
  const bool is_basic_date = style.form == TimeForm::basic;
  if (clock.of_day_us == 0 && !clock.is_leap && !has_zone && !is_basic_date && style.glue == 0)
    return {date};
  clock.is_basic = is_basic_date && random.chance(0.8);
  clock.is_half_day = !is_basic_date && !style.is_narrow && !clock.is_leap && random.chance(0.15);
  std::string between{style.glue};
  if (is_basic_date)
    between = "T";
  else if (clock.is_half_day)
    between = " ";
  else if (style.glue == 0)
    between = random.chance(0.4) ? "T" : random.chance(0.1) ? "  " : " ";
  const std::string text = date + between + clock_text(random, clock, mark);
  return {has_zone ? text + zone_text(random, offset_us, style.is_narrow) : text};
}

}  // namespace

std::string Decimal::plain(char mark) const {
  std::string text = (is_negative ? "-" : "") + digits;
  if (decimals > 0) text.insert(text.end() - static_cast<std::ptrdiff_t>(decimals), mark);
  return text;
}

double Decimal::value() const {
  return std::strtod(plain().c_str(), nullptr);
}

Decimal draw_decimal(Random& random, std::uint64_t whole_below, std::size_t decimals) {
  return {random.chance(0.5),
          std::to_string(random.below(whole_below)) + random_digits(random, decimals), decimals};
}

std::string spelled(Random& random, const Decimal& number, char mark) {
  std::string whole = number.digits.substr(0, number.digits.size() - number.decimals);
  std::string fraction = number.digits.substr(whole.size());
  const std::string sign = number.is_negative ? "-" : random.chance(0.1) ? "+" : "";
  switch (random.below(12)) {
    case 0:
      return sign + with_exponent(random, number, mark);
    case 1:
      if (whole == "0" && !fraction.empty()) whole.clear();
      break;
    case 2:
      if (fraction.empty()) return sign + whole + mark;
      break;
    case 3:
      whole.insert(0, 1 + random.below(2), '0');
      break;
    case 4:
      fraction.append(1 + random.below(4), '0');
      break;
    default:
      break;
  }
  return sign + whole + (fraction.empty() ? "" : mark + fraction);
}

std::string spelled_tags(Random& random, std::uint32_t tags, char mark) {
  if (!random.chance(0.3)) return spelled(random, {.digits = std::to_string(tags)}, mark);
  constexpr std::array formats{"0x%x", "0X%X", "0x%08X"};
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), formats[random.below(formats.size())], tags);
  return text.data();
}

std::int64_t draw_time_us(Random& random, const TimeStyle& style) {
  std::int64_t earliest_s = -2'208'988'800;  // 1900
  if (style.form == TimeForm::number && !style.unit_is_told)
    earliest_s = style.unit == TimeUnit::seconds ? -1'000'000 : 130'000'000;  // 1974
  std::int64_t time_s = random.between(earliest_s, 4'102'444'800);            // 2100
  if (random.chance(0.1)) time_s -= time_s % 60;
  if (random.chance(0.05)) time_s -= time_s % 86'400;
  std::int64_t time_us = time_s * second_us;
  if (random.chance(0.3)) time_us += random.between(0, 999) * 1000;
  if (random.chance(0.1)) time_us += random.between(0, 999);
  return time_us;
}

SpelledTime spelled_time(Random& random, std::int64_t time_us, const TimeStyle& style) {
  if (style.form != TimeForm::number) return spelled_date(random, time_us, style);
  return {spelled(random, number_of_time(random, time_us, style.unit), style.mark)};
}

}  // namespace starling::sim
