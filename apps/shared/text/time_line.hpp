// SPDX-License-Identifier: Apache-2.0
// The time of a tick, as the tables show it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace starling::apps {

/// Returns "125.000 s" for times below one year, and a date in UTC for later ones.
std::string format_time(std::int64_t time_us);

/// Returns why a log has no tick between --from and --until. `taus_us` are the times of all its
/// ticks, in order.
std::string no_tick_sentence(const std::string& folder, std::span<const std::int64_t> taus_us);

}  // namespace starling::apps
