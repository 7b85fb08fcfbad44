// Runs a planned simulation, or compares two that have run.
#pragma once

#include "apps/simulate/simulate_options.hpp"

namespace starling::apps {

/// Throws sim::UsageError, sim::TraceError and what a client, an engine or a file throws.
void run_simulate(const SimulatePlan& plan);

}  // namespace starling::apps
