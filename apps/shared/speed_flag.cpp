// SPDX-License-Identifier: Apache-2.0
// Parses the speed, and converts recorded times to wall-clock times: see speed_flag.hpp.
#include "starling/apps/shared/speed_flag.hpp"

#include <CLI/CLI.hpp>

#include "starling/apps/shared/trace_flags.hpp"
#include "starling/sim/data/files/number_text.hpp"

namespace starling::apps {

void add_speed_flag(CLI::App& command, std::string& text) {
  command
      .add_option("--speed", text,
                  "A multiple of real time, such as 1 or 2.5; max: as fast as possible")
      ->capture_default_str();
}

std::optional<double> speed_of(const std::string& text) {
  if (text == "max") return std::nullopt;
  const auto parsed = sim::parse_number(text);
  if (!parsed || !(*parsed > 0)) refuse_flag("--speed", text, "a positive number or max");
  return *parsed;
}

std::chrono::steady_clock::time_point due_at(std::chrono::steady_clock::time_point begin,
                                             std::int64_t since_us, double speed) {
  const std::chrono::duration<double, std::micro> due(static_cast<double>(since_us) / speed);
  return begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due);
}

}  // namespace starling::apps
