// A run as one page that needs nothing else: the figures, and plots as inline SVG.
#pragma once

#include <string>
#include <string_view>

#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// What stands around the plots, so that a comparison finds them.
inline constexpr std::string_view plots_begin = "<!-- plots begin -->";
inline constexpr std::string_view plots_end = "<!-- plots end -->";

/// The style sheet of all pages.
extern const char* const report_style;

std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary);

}  // namespace starling::sim::city
