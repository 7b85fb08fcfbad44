// A run as one page that needs nothing else: the figures, and plots as inline SVG.
#pragma once

#include <string>

#include "sim/city/simulation.hpp"
#include "sim/city/summary.hpp"

namespace starling::sim::city {

std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary);

}  // namespace starling::sim::city
