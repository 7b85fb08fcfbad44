// SPDX-License-Identifier: Apache-2.0
// Draws plots as SVG text: lines over time, bars, and a map of squares. The reports use these
// functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "starling/sim/city/roads/plane.hpp"

namespace starling::sim::city {

struct PlotSeries {
  std::string name;
  std::vector<Point> points;  ///< x_m and y_m are in the plot's units
};

struct LinePlot {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<PlotSeries> series;  ///< at most four
};

std::string draw_lines(const LinePlot& plot);

struct BarPlot {
  std::string title;
  std::string x_title;
  std::string y_title;
  double bar_width = 1;  ///< in units of the x axis; the first bar begins at x = 0
  std::vector<double> heights;
};

std::string draw_bars(const BarPlot& plot);

struct MapPlot {
  std::string title;
  std::string note;
  std::size_t columns = 0;
  std::size_t rows = 0;
  Area area;
  std::vector<double> cells;  ///< row by row, the lowest row first; a cell of 0 stays blank
};

std::string draw_map(const MapPlot& plot);

/// Escapes text for HTML content and attributes.
std::string escape_html(std::string_view text);

}  // namespace starling::sim::city
