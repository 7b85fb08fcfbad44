// SPDX-License-Identifier: Apache-2.0
// A run as a single self-contained HTML page with figures, settings and plots as inline SVG.
// run_files.cpp writes it.
#pragma once

#include <string>
#include <string_view>

#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// Markers around the plots, by which a comparison finds them in the page.
inline constexpr std::string_view plots_begin = "<!-- plots begin -->";
inline constexpr std::string_view plots_end = "<!-- plots end -->";

/// The style sheet of all pages.
extern const char* const report_style;

/// The page of a run.
std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary);

}  // namespace starling::sim::city
