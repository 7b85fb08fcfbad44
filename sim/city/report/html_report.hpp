// SPDX-License-Identifier: Apache-2.0
// Makes the HTML page of a run: figures, settings and plots. run_files.cpp writes the page to a
// file.
#pragma once

#include <string>

#include "starling/sim/city/report/html_page.hpp"
#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// Returns the page. Its plots are static if `script` is empty.
std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary, const PlotScript& script);

}  // namespace starling::sim::city
