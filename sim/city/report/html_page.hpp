// SPDX-License-Identifier: Apache-2.0
// The frame of report.html and compare.html: style, headings, and the script that makes the plots
// interactive. A page is one file and loads nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "starling/sim/city/report/plots.hpp"

namespace starling::sim::city {

/// The script and the style of the plots. The build of the live page makes both; they are empty if
/// that page was not built.
struct PlotScript {
  std::string script;
  std::string style;
};

/// Reads report.js and report.css in `folder`, the folder of the live page. Returns empty texts if
/// `folder` is empty or lacks one of the files. Throws std::runtime_error if a file cannot be read.
PlotScript read_plot_script(const std::string& folder);

/// Markers before and after the plots. comparison_page() finds the plots of a report by these
/// markers.
inline constexpr std::string_view plots_begin = "<!-- plots begin -->";
inline constexpr std::string_view plots_end = "<!-- plots end -->";

/// Returns the plots between their markers: drawings, and their data as JSON.
std::string plots_html(std::span<const Plot> plots);

struct PageParts {
  std::string title;  ///< HTML, like the other parts
  std::string heading;
  std::string above;  ///< HTML that comes before the plots
  std::string plots;  ///< the result of plots_html() inside elements of class "plots"
};

/// Returns the page. Without a script, the plots are static, and a sentence says how to get
/// interactive ones.
std::string html_page(const PageParts& parts, const PlotScript& script);

}  // namespace starling::sim::city
