// SPDX-License-Identifier: Apache-2.0
// Draws plots as SVG text. The reports show these drawings where no script runs.
#pragma once

#include <string>
#include <string_view>

#include "starling/sim/city/report/plots.hpp"

namespace starling::sim::city {

std::string draw_plot(const Plot& plot);

/// Escapes text for HTML content and attributes.
std::string escape_html(std::string_view text);

}  // namespace starling::sim::city
