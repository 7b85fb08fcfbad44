// SPDX-License-Identifier: Apache-2.0
// Writes the members of each kind of plot: see plot_json.hpp.
#include "starling/sim/city/report/plot_json.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "starling/knn/base/json_text.hpp"

namespace starling::sim::city {
namespace {

void append_numbers(JsonText& json, std::string_view name, std::span<const double> values) {
  json.key(name).begin_array();
  for (const double value : values) json.number(value);
  json.end_array();
}

template <class AxisPlot>
void append_axes(JsonText& json, const AxisPlot& plot) {
  json.text("title", plot.title).text("x_title", plot.x_title).text("y_title", plot.y_title);
  json.text("x_unit", plot.x_unit).text("y_unit", plot.y_unit);
}

void append(JsonText& json, const LinePlot& plot) {
  json.text("kind", "lines");
  append_axes(json, plot);
  json.number("bucket", plot.bucket);
  json.key("series").begin_array();
  for (const PlotSeries& series : plot.series) {
    json.begin_object().text("name", series.name).key("points").begin_array();
    for (const Point& point : series.points)
      json.begin_array().number(point.x_m).number(point.y_m).end_array();
    json.end_array().end_object();
  }
  json.end_array();
}

void append(JsonText& json, const BarPlot& plot) {
  json.text("kind", "bars");
  append_axes(json, plot);
  json.number("bar_width", plot.bar_width);
  append_numbers(json, "heights", plot.heights);
}

void append(JsonText& json, const MapPlot& plot) {
  json.text("kind", "map").text("title", plot.title).text("note", plot.note);
  const std::array low{plot.area.low.x_m, plot.area.low.y_m};
  append_numbers(json, "low", low);
  json.number("cell", plot.cell_m);
  json.number("columns", plot.columns).number("rows", plot.rows);
  append_numbers(json, "cells", plot.cells);
}

}  // namespace

std::string plots_json(std::span<const Plot> plots) {
  JsonText json;
  json.begin_array();
  for (const Plot& plot : plots) {
    json.begin_object();
    std::visit([&json](const auto& kind) { append(json, kind); }, plot);
    json.end_object();
  }
  json.end_array();
  std::string text = json.take();
  // In JSON, '<' occurs only inside strings, where its escape means the same.
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace starling::sim::city
