// SPDX-License-Identifier: Apache-2.0
// Uses the durations of knn/base/time_text: see duration_flag.hpp.
#include "starling/apps/shared/duration_flag.hpp"

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::apps {
namespace {

std::string text_of_least(std::int64_t least_us) {
  return least_us % 1000 == 0 ? std::to_string(least_us / 1000) + "ms"
                              : std::to_string(least_us) + "us";
}

}  // namespace

std::function<std::string(const std::string&)> is_duration_from(std::int64_t least_us) {
  return [least_us](const std::string& text) -> std::string {
    if (parse_duration_us(text).value_or(-1) >= least_us) return {};
    return sim::quoted_text(text) + " is not a duration of " + text_of_least(least_us) +
           " or more; write 200ms or 5s, for example";
  };
}

std::int64_t duration_us(const std::string& text) {
  return parse_duration_us(text).value();
}

}  // namespace starling::apps
