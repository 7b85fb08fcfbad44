// SPDX-License-Identifier: Apache-2.0
// Writes the members of each kind of plot: see plot_json.hpp.
#include "starling/sim/city/report/plot_json.hpp"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "starling/sim/files/text_append.hpp"

namespace starling::sim::city {
namespace {

/// Appends members of objects and elements of arrays, with commas between them.
class JsonText {
 public:
  void open(char bracket) {
    separate();
    text_ += bracket;
    needs_comma_ = false;
  }
  void close(char bracket) {
    text_ += bracket;
    needs_comma_ = true;
  }
  void key(std::string_view name) {
    text(name);
    text_ += ':';
    needs_comma_ = false;
  }
  void text(std::string_view value) {
    separate();
    append_json(text_, value);
  }
  void number(double value) {
    separate();
    if (std::isfinite(value))
      append_number(text_, value);
    else
      text_ += "null";
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void number(std::string_view name, double value) {
    key(name);
    number(value);
  }
  void numbers(std::string_view name, std::span<const double> values) {
    key(name);
    open('[');
    for (const double value : values) number(value);
    close(']');
  }

  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (needs_comma_) text_ += ',';
    needs_comma_ = true;
  }

  std::string text_;
  bool needs_comma_ = false;
};

template <class AxisPlot>
void append_axes(JsonText& json, const AxisPlot& plot) {
  json.text("title", plot.title);
  json.text("x_title", plot.x_title);
  json.text("y_title", plot.y_title);
  json.text("x_unit", plot.x_unit);
  json.text("y_unit", plot.y_unit);
}

void append(JsonText& json, const LinePlot& plot) {
  json.text("kind", "lines");
  append_axes(json, plot);
  json.number("bucket", plot.bucket);
  json.key("series");
  json.open('[');
  for (const PlotSeries& series : plot.series) {
    json.open('{');
    json.text("name", series.name);
    json.key("points");
    json.open('[');
    for (const Point& point : series.points) {
      json.open('[');
      json.number(point.x_m);
      json.number(point.y_m);
      json.close(']');
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
}

void append(JsonText& json, const BarPlot& plot) {
  json.text("kind", "bars");
  append_axes(json, plot);
  json.number("bar_width", plot.bar_width);
  json.numbers("heights", plot.heights);
}

void append(JsonText& json, const MapPlot& plot) {
  json.text("kind", "map");
  json.text("title", plot.title);
  json.text("note", plot.note);
  const std::array low{plot.area.low.x_m, plot.area.low.y_m};
  json.numbers("low", low);
  json.number("cell", plot.cell_m);
  json.number("columns", static_cast<double>(plot.columns));
  json.number("rows", static_cast<double>(plot.rows));
  json.numbers("cells", plot.cells);
}

}  // namespace

std::string plots_json(std::span<const Plot> plots) {
  JsonText json;
  json.open('[');
  for (const Plot& plot : plots) {
    json.open('{');
    std::visit([&json](const auto& kind) { append(json, kind); }, plot);
    json.close('}');
  }
  json.close(']');
  std::string text = json.take();
  // '<' occurs in JSON only inside of strings, where this stands for it.
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace starling::sim::city
