// SPDX-License-Identifier: Apache-2.0
// Formats times of ticks as seconds or as dates: see time_line.hpp.
#include "starling/apps/shared/text/time_line.hpp"

#include <array>
#include <cstdio>

#include "starling/knn/base/time_text.hpp"

namespace starling::apps {

std::string format_time(std::int64_t time_us) {
  constexpr std::int64_t second_us = 1'000'000;
  constexpr std::int64_t year_us = 365 * 86'400 * second_us;
  if (time_us < year_us) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.3f s", static_cast<double>(time_us) / second_us);
    return text.data();
  }
  std::string text = iso_time_text(time_us, TimeDigits::milliseconds);
  text[text.find('T')] = ' ';
  text.back() = ' ';
  return text + "UTC";
}

std::string no_tick_sentence(const std::string& folder, std::span<const std::int64_t> taus_us) {
  if (taus_us.empty()) return "the log in " + folder + " has no tick after its last snapshot";
  return "no tick of the log is between --from and --until: it has those from " +
         format_time(taus_us.front()) + " to " + format_time(taus_us.back());
}

}  // namespace starling::apps
