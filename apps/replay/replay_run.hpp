// SPDX-License-Identifier: Apache-2.0
// Runs a planned replay: reads the trace and the queries, advances the ticks of an engine or a
// server and writes the lists. Called by replay.cpp.
#pragma once

#include "starling/apps/replay/replay_options.hpp"
#include "starling/apps/replay/replay_report.hpp"

namespace starling::apps {

/// Throws sim::UsageError, sim::InputError, and the errors of a client or an engine.
ReplaySummary run_replay(const ReplayPlan& plan);

}  // namespace starling::apps
