// SPDX-License-Identifier: Apache-2.0
// Runs a planned simulation, or compares the results of two simulations. Called by simulate.cpp.
#pragma once

#include "starling/apps/simulate/simulate_options.hpp"

namespace starling::apps {

/// Throws sim::UsageError, sim::InputError, and the errors of a client, an engine or a file.
void run_simulate(const SimulatePlan& plan);

}  // namespace starling::apps
