// SPDX-License-Identifier: Apache-2.0
// See time_line.hpp.
#include "starling/apps/shared/text/time_line.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace starling::apps {
namespace {

template <class... Values>
std::string formatted(const char* pattern, Values... values) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

}  // namespace

std::string format_time(std::int64_t time_us) {
  constexpr std::int64_t second_us = 1'000'000;
  constexpr std::int64_t year_us = 365 * 86'400 * second_us;
  if (time_us < year_us) return formatted("%.3f s", static_cast<double>(time_us) / second_us);
  const std::time_t seconds = time_us / second_us;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return formatted("%04d-%02d-%02d %02d:%02d:%02d.%03d UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                   utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                   static_cast<int>(time_us % second_us / 1000));
}

std::string no_tick_sentence(const std::string& folder, std::span<const std::int64_t> taus_us) {
  if (taus_us.empty()) return "the log in " + folder + " has no tick after its last snapshot";
  return "no tick of the log is between --from and --until: it has those from " +
         format_time(taus_us.front()) + " to " + format_time(taus_us.back());
}

}  // namespace starling::apps
