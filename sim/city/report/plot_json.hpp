// SPDX-License-Identifier: Apache-2.0
// Writes plots as JSON for a <script> element of a report. The report's own script
// (clients/page/src/report) reads this JSON.
#pragma once

#include <span>
#include <string>

#include "starling/sim/city/report/plots.hpp"

namespace starling::sim::city {

/// Returns a JSON array with an object for each plot. Numbers read back as the same float64. The
/// text has no '<', so it cannot end the <script> element in which it stands.
std::string plots_json(std::span<const Plot> plots);

}  // namespace starling::sim::city
