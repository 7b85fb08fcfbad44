// SPDX-License-Identifier: Apache-2.0
// Draws frames, lines, bars and squares: see svg_plot.hpp.
#include "starling/sim/city/report/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim::city {
namespace {

constexpr double width = 560;
constexpr double height = 260;
constexpr double left = 60;
constexpr double right = 12;
constexpr double top = 34;
constexpr double bottom = 44;
constexpr int ticks_wanted = 5;
constexpr std::array<const char*, 4> colours{"#1f6fb4", "#d1662a", "#3a8f4d", "#8355a8"};

/// Returns the distance between axis labels: 1, 2 or 5 times a power of ten.
double nice_step(double range) {
  const double rough = range / ticks_wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

/// Draws the frame of a plot. The y axis runs from 0 to the first axis label at or above `y_high`.
/// The x axis runs from `x_low` to `x_high`.
class Frame {
 public:
  Frame(double x_low, double x_high, double y_high)
      : x_low_(x_low), x_high_(x_high > x_low ? x_high : x_low + 1) {
    y_step_ = nice_step(y_high > 0 ? y_high : 1);
    y_high_ = std::ceil((y_high > 0 ? y_high : 1) / y_step_) * y_step_;
  }

  double x(double value) const {
    return left + (value - x_low_) / (x_high_ - x_low_) * (width - left - right);
  }
  double y(double value) const {
    return height - bottom - value / y_high_ * (height - top - bottom);
  }

  void draw(std::string& svg, const std::string& title, const std::string& x_title,
            const std::string& y_title) const {
    svg += "<svg class=\"plot\" viewBox=\"0 0 560 260\" role=\"img\" aria-label=\"" +
           escape_html(title) + "\">\n<text class=\"title\" x=\"" + format_number(left, 0) +
           "\" y=\"16\">" + escape_html(title) + "</text>\n";
    for (int i = 0; i * y_step_ <= y_high_ * 1.0001; ++i) {
      const std::string at = format_number(y(i * y_step_), 1);
      svg += "<path class=\"grid\" d=\"M" + format_number(left, 0) + " " + at;
      svg += 'H';
      svg += format_number(width - right, 0) + "\"/><text class=\"end\" x=\"";
      svg += format_number(left - 6, 0) + "\" y=\"" + at + "\" dy=\"4\">";
      svg += label(i * y_step_, y_step_) + "</text>\n";
    }
    const double step = nice_step(x_high_ - x_low_);
    for (double value = std::ceil(x_low_ / step) * step; value <= x_high_; value += step)
      svg += "<text class=\"middle\" x=\"" + format_number(x(value), 1) + "\" y=\"" +
             format_number(height - bottom + 16, 0) + "\">" + label(value, step) + "</text>\n";
    svg += "<text class=\"middle\" x=\"" + format_number((left + width - right) / 2, 0) +
           "\" y=\"" + format_number(height - 8, 0) + "\">" + escape_html(x_title) +
           "</text>\n<text class=\"middle\" transform=\"translate(14 " +
           format_number((top + height - bottom) / 2, 0) + ") rotate(-90)\">" +
           escape_html(y_title) + "</text>\n";
  }

 private:
  static std::string label(double value, double step) {
    return format_number(value, step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step))));
  }

  double x_low_;
  double x_high_;
  double y_high_ = 1;
  double y_step_ = 1;
};

void draw_legend(std::string& svg, std::span<const PlotSeries> series) {
  double x = width - right;
  for (std::size_t i = series.size(); i-- > 0;) {
    svg += "<text class=\"end\" style=\"fill:" + std::string(colours[i]) + "\" x=\"" +
           format_number(x, 0) + "\" y=\"28\">" + escape_html(series[i].name) + "</text>\n";
    x -= 7.0 * static_cast<double>(series[i].name.size()) + 14;
  }
}

std::string draw(const LinePlot& plot) {
  double x_low = 0;
  double x_high = 0;
  double y_high = 0;
  bool is_first = true;
  for (const PlotSeries& series : plot.series)
    for (const Point& point : series.points) {
      x_low = is_first ? point.x_m : std::min(x_low, point.x_m);
      x_high = is_first ? point.x_m : std::max(x_high, point.x_m);
      y_high = std::max(y_high, point.y_m);
      is_first = false;
    }
  const Frame frame(x_low, x_high, y_high);
  std::string svg;
  frame.draw(svg, plot.title, plot.x_title, plot.y_title);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    svg += "<path class=\"line\" stroke=\"" + std::string(colours.at(i)) + "\" d=\"";
    char command = 'M';
    for (const Point& point : plot.series[i].points) {
      svg += std::exchange(command, 'L') + format_number(frame.x(point.x_m), 1) + " " +
             format_number(frame.y(point.y_m), 1);
    }
    svg += "\"/>\n";
  }
  if (plot.series.size() > 1) draw_legend(svg, plot.series);
  return svg + "</svg>\n";
}

std::string draw(const BarPlot& plot) {
  const double y_high = plot.heights.empty() ? 0 : *std::ranges::max_element(plot.heights);
  const Frame frame(0, plot.bar_width * static_cast<double>(plot.heights.size()), y_high);
  std::string svg;
  frame.draw(svg, plot.title, plot.x_title, plot.y_title);
  for (std::size_t i = 0; i < plot.heights.size(); ++i) {
    if (plot.heights[i] <= 0) continue;
    const double from = frame.x(plot.bar_width * static_cast<double>(i));
    const double to = frame.x(plot.bar_width * static_cast<double>(i + 1));
    const double over = frame.y(plot.heights[i]);
    svg += "<rect class=\"bar\" x=\"" + format_number(from, 1) + "\" y=\"" +
           format_number(over, 1) + "\" width=\"" + format_number(std::max(to - from - 1, 0.5), 1) +
           "\" height=\"" + format_number(frame.y(0) - over, 1) + "\"/>\n";
  }
  return svg + "</svg>\n";
}

std::string draw(const MapPlot& plot) {
  constexpr double side = 520;
  const double extent_m = std::max({plot.area.width_m(), plot.area.height_m(), 1.0});
  const double map_width = side * plot.area.width_m() / extent_m;
  const double map_height = side * plot.area.height_m() / extent_m;
  const double most =
      plot.cells.empty() ? 0 : std::max(*std::ranges::max_element(plot.cells), 1e-9);
  const double cell_width = map_width / static_cast<double>(plot.columns);
  const double cell_height = map_height / static_cast<double>(plot.rows);
  std::string svg = "<svg class=\"map\" viewBox=\"0 0 560 " + format_number(map_height + 64, 0) +
                    "\" role=\"img\" aria-label=\"" + escape_html(plot.title) +
                    "\">\n<text class=\"title\" x=\"10\" y=\"16\">" + escape_html(plot.title) +
                    "</text>\n<rect class=\"frame\" x=\"10\" y=\"26\" width=\"" +
                    format_number(map_width, 1) + "\" height=\"" + format_number(map_height, 1) +
                    "\"/>\n";
  for (std::size_t row = 0; row < plot.rows; ++row)
    for (std::size_t column = 0; column < plot.columns; ++column) {
      const double value = plot.cells[row * plot.columns + column];
      if (value <= 0) continue;
      const double from_top = map_height - static_cast<double>(row + 1) * cell_height;
      svg += "<rect class=\"unmet\" x=\"" +
             format_number(10 + static_cast<double>(column) * cell_width, 1) + "\" y=\"" +
             format_number(26 + from_top, 1) + "\" width=\"" + format_number(cell_width, 2) +
             "\" height=\"" + format_number(cell_height, 2) + "\" fill-opacity=\"" +
             format_number(0.15 + 0.85 * std::sqrt(value / most), 3) + "\"><title>" +
             format_number(value, 0) + "</title></rect>\n";
    }
  return svg + "<text x=\"10\" y=\"" + format_number(map_height + 50, 0) + "\">" +
         escape_html(plot.note) + "</text>\n</svg>\n";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  append_xml(escaped, text);
  return escaped;
}

std::string draw_plot(const Plot& plot) {
  return std::visit([](const auto& kind) { return draw(kind); }, plot);
}

}  // namespace starling::sim::city
