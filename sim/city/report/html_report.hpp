// SPDX-License-Identifier: Apache-2.0
// Makes the HTML page of a run: one self-contained text with figures, settings, and plots as inline
// SVG. run_files.cpp writes the page to a file.
#pragma once

#include <string>
#include <string_view>

#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// Markers before and after the plots. comparison_page() finds the plots of a page by these
/// markers.
inline constexpr std::string_view plots_begin = "<!-- plots begin -->";
inline constexpr std::string_view plots_end = "<!-- plots end -->";

/// The style sheet of all pages.
extern const char* const report_style;

/// Returns the page of a run.
std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary);

}  // namespace starling::sim::city
