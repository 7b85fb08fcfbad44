// SPDX-License-Identifier: Apache-2.0
// Builds the page and its plots: see html_report.hpp.
#include "starling/sim/city/report/html_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "starling/knn/base/percentile.hpp"
#include "starling/sim/city/report/svg_plot.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t buckets_max = 120;  // number of time buckets; a plot has one point per bucket
constexpr std::size_t bars_max = 30;
constexpr std::size_t map_cells_wide = 40;

class Report {
 public:
  Report(const Simulation& simulation, const Demand& demand, const RunSummary& summary)
      : simulation_(simulation), demand_(demand), summary_(summary) {
    const auto periods = simulation_.periods();
    start_us_ = periods.front().time_us;
    const auto span_us = static_cast<double>(periods.back().time_us - start_us_ + 1);
    bucket_us_ = std::max(60e6, std::ceil(span_us / buckets_max / 60e6) * 60e6);
    bucket_count_ = static_cast<std::size_t>(span_us / bucket_us_) + 1;
  }

  std::string text(const PlotScript& script) const {
    const std::array plots{waits_over_time(),   waits(),
                           pickups_over_time(), pickups(),
                           service_over_time(), states_over_time(),
                           waiting_over_time(), unmet_map()};
    return html_page({.title = "Starling: " + setting("policy"),
                      .heading = heading(),
                      .above = "<div class=\"columns\"><div><h2>Results</h2>\n" + figures() +
                               "</div><div><h2>Settings</h2>\n" + settings() + "</div></div>\n",
                      .plots = "<div class=\"plots\">\n" + plots_html(plots) + "</div>\n"},
                     script);
  }

 private:
  std::string setting(std::string_view key) const {
    for (const Setting& setting : summary_.settings)
      if (setting.key == key) return escape_html(setting.value);
    return {};
  }

  std::string heading() const {
    return setting("drivers") + " drivers, " + std::to_string(simulation_.rides().size()) +
           " requests, policy " + setting("policy") + " every " + setting("period_s") + " s";
  }

  std::string figures() const {
    std::string html = "<table>\n";
    for (const Figure& figure : summary_.figures)
      html += "<tr><th scope=\"row\">" + escape_html(figure.title) + "</th><td class=\"n\">" +
              format_number(figure.value, figure.decimals) + "</td></tr>\n";
    return html + "</table>\n";
  }

  std::string settings() const {
    std::string html = "<table>\n";
    for (const Setting& setting : summary_.settings)
      html += "<tr><th scope=\"row\">" + escape_html(setting.key) + "</th><td>" +
              escape_html(setting.value) + "</td></tr>\n";
    return html + "</table>\n";
  }

  std::size_t bucket(std::int64_t time_us) const {
    const auto at = static_cast<std::size_t>(static_cast<double>(time_us - start_us_) / bucket_us_);
    return std::min(at, bucket_count_ - 1);
  }
  double minutes(std::size_t bucket) const {
    return (static_cast<double>(bucket) + 0.5) * bucket_us_ / 60e6;
  }

  /// Computes the mean of the values in each time bucket. Empty buckets are left out.
  class Means {
   public:
    explicit Means(const Report& report)
        : report_(report), sums_(report.bucket_count_), counts_(report.bucket_count_) {}
    void add(std::int64_t time_us, double value, double count = 1) {
      sums_[report_.bucket(time_us)] += value;
      counts_[report_.bucket(time_us)] += count;
    }
    std::vector<Point> points() const {
      std::vector<Point> points;
      for (std::size_t i = 0; i < sums_.size(); ++i)
        if (counts_[i] > 0) points.push_back({report_.minutes(i), sums_[i] / counts_[i]});
      return points;
    }

   private:
    const Report& report_;
    std::vector<double> sums_;
    std::vector<double> counts_;
  };

  struct OverTime {
    std::string title;
    std::string y_title;
    std::string y_unit;
    std::vector<PlotSeries> series;
  };
  Plot over_time(OverTime plot) const {
    return LinePlot{.title = std::move(plot.title),
                    .x_title = "minutes from the start",
                    .y_title = std::move(plot.y_title),
                    .x_unit = "min",
                    .y_unit = std::move(plot.y_unit),
                    .bucket = bucket_us_ / 60e6,
                    .series = std::move(plot.series)};
  }

  Plot waits_over_time() const {
    Means waits(*this);
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        waits.add(ride.request.time_us, static_cast<double>(ride.wait_us()) / 1e6);
    return over_time({"Wait until pick-up, by time of request",
                      "seconds, mean",
                      "s",
                      {{"wait", waits.points()}}});
  }

  Plot pickups_over_time() const {
    Means distances(*this);
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        distances.add(ride.assigned_us, static_cast<double>(ride.pickup_mm) / 1e3);
    return over_time({"Pick-up distance, by time of assignment",
                      "metres, mean",
                      "m",
                      {{"distance", distances.points()}}});
  }

  Plot service_over_time() const {
    Means served(*this);
    for (const Ride& ride : simulation_.rides())
      served.add(ride.request.time_us, ride.state == RideState::dropped_off ? 100 : 0);
    return over_time({"Service rate, by time of request",
                      "per cent of requests",
                      "%",
                      {{"served", served.points()}}});
  }

  Plot states_over_time() const {
    Means occupied(*this);
    Means to_pickup(*this);
    Means idle(*this);
    for (const PeriodRecord& period : simulation_.periods()) {
      const double drivers = period.idle + period.to_pickup + period.occupied;
      occupied.add(period.time_us, 100.0 * period.occupied, drivers);
      to_pickup.add(period.time_us, 100.0 * period.to_pickup, drivers);
      idle.add(period.time_us, 100.0 * period.idle, drivers);
    }
    return over_time({"Utilisation: drivers by state",
                      "per cent of drivers",
                      "%",
                      {{"with a rider", occupied.points()},
                       {"to a rider", to_pickup.points()},
                       {"idle", idle.points()}}});
  }

  Plot waiting_over_time() const {
    Means waiting(*this);
    for (const PeriodRecord& period : simulation_.periods())
      waiting.add(period.time_us, period.waiting);
    return over_time(
        {"Riders waiting for a driver", "riders, mean", "riders", {{"waiting", waiting.points()}}});
  }

  static Plot bars(std::string title, std::string x_title, std::string x_unit,
                   std::vector<double> values) {
    // The bars end at the 99th percentile, because a few very large values would compress all other
    // bars.
    const double high = std::max(percentile(values, 0.99), 1e-9);
    const double power = std::pow(10, std::floor(std::log10(high / bars_max)));
    double bar_width = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
      if (factor * power * bars_max >= high) bar_width = factor * power;
    std::vector<double> heights(static_cast<std::size_t>(high / bar_width) + 1);
    for (const double value : values) {
      const auto bar = static_cast<std::size_t>(value / bar_width);
      if (bar < heights.size()) ++heights[bar];
    }
    return BarPlot{.title = std::move(title),
                   .x_title = std::move(x_title),
                   .y_title = "rides",
                   .x_unit = std::move(x_unit),
                   .y_unit = "rides",
                   .bar_width = bar_width,
                   .heights = std::move(heights)};
  }

  Plot waits() const {
    std::vector<double> values;
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        values.push_back(static_cast<double>(ride.wait_us()) / 1e6);
    return bars("Waits (without the longest 1 %)", "seconds", "s", std::move(values));
  }

  Plot pickups() const {
    std::vector<double> values;
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        values.push_back(static_cast<double>(ride.pickup_mm) / 1e3);
    return bars("Pick-up distances (without the longest 1 %)", "metres", "m", std::move(values));
  }

  Plot unmet_map() const {
    Area area;
    std::size_t unmet = 0;
    for (const Ride& ride : simulation_.rides()) area.add(ride.pickup.at);
    if (simulation_.rides().empty()) area = demand_.area;
    const double cell_m =
        std::max({area.width_m(), area.height_m(), 1.0}) / static_cast<double>(map_cells_wide);
    MapPlot map{.title = "Unmet demand: where riders gave up",
                .note = {},
                .area = area,
                .cell_m = cell_m,
                .cells = {}};
    map.columns = static_cast<std::size_t>(area.width_m() / cell_m) + 1;
    map.rows = static_cast<std::size_t>(area.height_m() / cell_m) + 1;
    map.area.high = {area.low.x_m + cell_m * static_cast<double>(map.columns),
                     area.low.y_m + cell_m * static_cast<double>(map.rows)};
    map.cells.resize(map.columns * map.rows);
    for (const Ride& ride : simulation_.rides()) {
      if (ride.state != RideState::gave_up) continue;
      const auto column = static_cast<std::size_t>((ride.pickup.at.x_m - area.low.x_m) / cell_m);
      const auto row = static_cast<std::size_t>((ride.pickup.at.y_m - area.low.y_m) / cell_m);
      ++map.cells[row * map.columns + column];
      ++unmet;
    }
    const double most = map.cells.empty() ? 0 : *std::ranges::max_element(map.cells);
    map.note = std::to_string(unmet) + " unmet requests in squares of " + format_number(cell_m, 0) +
               " m; the fullest square has " + format_number(most, 0) + "; north is up";
    return map;
  }

  const Simulation& simulation_;
  const Demand& demand_;
  const RunSummary& summary_;
  std::int64_t start_us_ = 0;
  double bucket_us_ = 60e6;
  std::size_t bucket_count_ = 1;
};

}  // namespace

std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary, const PlotScript& script) {
  return Report(simulation, demand, summary).text(script);
}

}  // namespace starling::sim::city
