// SPDX-License-Identifier: Apache-2.0
// The time of a tick, as the tables show it.
#pragma once

#include <cstdint>
#include <string>

namespace starling::apps {

/// Returns "125.000 s" for times below one year, and a date in UTC for later ones.
std::string format_time(std::int64_t time_us);

}  // namespace starling::apps
