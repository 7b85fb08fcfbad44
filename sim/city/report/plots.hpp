// SPDX-License-Identifier: Apache-2.0
// The plots of a report as data: lines over time, bars, and a map of squares. svg_plot.hpp draws
// them, and plot_json.hpp writes them for the script that shows their values.
#pragma once

#include <string>
#include <variant>
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
  std::string x_unit;  ///< unit of the x axis, shown with a value under the pointer
  std::string y_unit;
  double bucket = 1;  ///< length of a bucket in x; a point is a bucket's mean, at its middle
  std::vector<PlotSeries> series;  ///< at most four
};

struct BarPlot {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::string x_unit;
  std::string y_unit;
  double bar_width = 1;  ///< width in units of the x axis; the first bar begins at x = 0
  std::vector<double> heights;
};

struct MapPlot {
  std::string title;
  std::string note;
  std::size_t columns = 0;
  std::size_t rows = 0;
  Area area;                  ///< area of all cells
  double cell_m = 1;          ///< side of a cell
  std::vector<double> cells;  ///< row by row, the lowest row first; a cell of 0 stays blank
};

using Plot = std::variant<LinePlot, BarPlot, MapPlot>;

}  // namespace starling::sim::city
