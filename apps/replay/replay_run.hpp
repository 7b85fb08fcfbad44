// Runs a planned replay: trace, queries, clock, engine or server, results.
#pragma once

#include "apps/replay/replay_options.hpp"
#include "apps/replay/replay_report.hpp"

namespace starling::apps {

/// Throws sim::UsageError, sim::TraceError and what a client or an engine throws.
ReplaySummary run_replay(const ReplayPlan& plan);

}  // namespace starling::apps
