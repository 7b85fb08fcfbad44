// SPDX-License-Identifier: Apache-2.0
// Prints to stderr, before the first tick, how many ticks and rows a replay will have, and warns of
// rows with times far from all others.
#pragma once

#include <span>

#include "starling/apps/replay/replay_options.hpp"
#include "starling/sim/replay/forecast.hpp"

namespace starling::apps {

/// `forecast` has all rows of the trace, and `queries` all queries of the plan.
void print_forecast(const ReplayPlan& plan, const sim::Forecast& forecast,
                    std::span<const protocol::QuerySpec> queries);

}  // namespace starling::apps
