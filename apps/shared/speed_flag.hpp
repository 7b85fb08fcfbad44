// SPDX-License-Identifier: Apache-2.0
// The flag --speed of the commands that play recorded time: a multiple of real time, or max.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace starling::apps {

/// Adds the flag. `text` holds the default and must outlive the command.
void add_speed_flag(CLI::App& command, std::string& text);

/// Returns the speed; std::nullopt for max. Throws a sim::UsageError that names the flag if the
/// text is neither a positive number nor max.
std::optional<double> speed_of(const std::string& text);

/// Returns when the moment `since_us` after the beginning of a recording is due.
std::chrono::steady_clock::time_point due_at(std::chrono::steady_clock::time_point begin,
                                             std::int64_t since_us, double speed);

}  // namespace starling::apps
