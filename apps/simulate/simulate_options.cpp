// SPDX-License-Identifier: Apache-2.0
// Converts the flags into a plan, or throws a sentence that names the wrong flag: see
// simulate_options.hpp.
#include "starling/apps/simulate/simulate_options.hpp"

#include <algorithm>
#include <utility>

#include "starling/apps/shared/speed_flag.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"

namespace starling::apps {
namespace {

std::int64_t checked_duration_us(const std::string& flag, const std::string& text,
                                 std::int64_t least_us) {
  const auto parsed_us = parse_duration_us(text);
  if (!parsed_us || *parsed_us < least_us)
    refuse_flag(flag, text,
                least_us > 0 ? "a positive duration, such as 500ms, 2s, 5m or 1h"
                             : "a duration, such as 0s, 500ms, 2s or 5m");
  return *parsed_us;
}

std::optional<std::array<double, 4>> area(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::array<double, 4> numbers{};
  std::size_t count = 0;
  for (std::string_view rest = text; !rest.empty(); ++count) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const auto parsed = sim::parse_number(part);
    if (!parsed || count == numbers.size()) {
      count = 0;
      break;
    }
    numbers[count] = *parsed;
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  if (count != numbers.size() || !(numbers[0] < numbers[2]) || !(numbers[1] < numbers[3]))
    refuse_flag("--area", text, "LOW_X,LOW_Y,HIGH_X,HIGH_Y (a longitude is x)");
  return numbers;
}

sim::city::Idling idling(const std::string& text) {
  if (text == "park") return sim::city::Idling::park;
  return text == "head" ? sim::city::Idling::head : sim::city::Idling::cruise;
}

void refuse_contradictions(const SimulateFlags& flags) {
  if (flags.compare.empty() && flags.out.empty())
    throw sim::UsageError("--out: a folder is needed for the files of the run; add --out FOLDER");
  for (const auto& [flag, is_given] :
       {std::pair{"--request-columns", !flags.request_columns.empty()},
        std::pair{"--area", !flags.area.empty()},
        std::pair{"--whole-minutes", flags.whole_minutes}})
    if (is_given && flags.requests.empty())
      throw sim::UsageError(std::string(flag) + " is a flag for --requests; add --requests FILE");
  if (flags.k > flags.k_max)
    throw sim::UsageError("--k-max: lists cannot be widened to fewer drivers than --k");
  if (flags.largest_part && (flags.world == "straight" || flags.world == "grid"))
    throw sim::UsageError("--largest-part is a flag for --world FILE.net.xml");
  if (flags.policy == "command" && flags.policy_command.empty())
    throw sim::UsageError(
        "--policy command: add --policy-command 'PROGRAM', the program that decides");
  if (flags.policy != "command" && !flags.policy_command.empty())
    throw sim::UsageError("--policy-command is a flag for --policy command");
}

}  // namespace

SimulatePlan plan_simulate(const SimulateFlags& flags) {
  refuse_contradictions(flags);
  SimulatePlan plan;
  plan.flags = flags;
  plan.area = area(flags.area);
  plan.start_us = checked_duration_us("--start", flags.start, 0);
  if (!flags.length.empty()) plan.length_us = checked_duration_us("--for", flags.length, 1);
  plan.pace = speed_of(flags.pace);
  if (!flags.commands.empty()) plan.key = key_of(flags.key);
  plan.connect_timeout_ms = std::max<std::int64_t>(
      checked_duration_us("--connect-timeout", flags.connect_timeout, 1) / 1000, 1);
  plan.simulation = {.seed = flags.seed,
                     .drivers = flags.drivers,
                     .idling = idling(flags.idle),
                     .period_us = checked_duration_us("--period", flags.period, 1),
                     .k = flags.k,
                     .k_max = flags.k_max,
                     .patience_us = checked_duration_us("--patience", flags.patience, 1),
                     .answer_us = checked_duration_us("--answer-time", flags.answer_time, 0),
                     .decline_per_km = flags.decline_per_km};
  return plan;
}

}  // namespace starling::apps
