// SPDX-License-Identifier: Apache-2.0
// Builds the page and its plots: see html_report.hpp.
#include "starling/sim/city/report/html_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "starling/knn/base/percentile.hpp"
#include "starling/sim/city/report/svg_plot.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t buckets_max = 120;  // limit of time buckets; a plot has a point for each
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

  std::string text() {
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Starling: " +
           setting("policy") + "</title><style>" + report_style + "</style></head><body>\n<h1>" +
           heading() + "</h1>\n<div class=\"columns\"><div><h2>Results</h2>\n" + figures() +
           "</div><div><h2>Settings</h2>\n" + settings() +
           "</div></div>\n<h2>Plots</h2>\n<div class=\"plots\">\n" + std::string(plots_begin) +
           "\n" + plots() + std::string(plots_end) + "\n</div>\n</body></html>\n";
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
      html += "<tr><td>" + escape_html(figure.title) + "</td><td class=\"n\">" +
              format_number(figure.value, figure.decimals) + "</td></tr>\n";
    return html + "</table>\n";
  }

  std::string settings() const {
    std::string html = "<table>\n";
    for (const Setting& setting : summary_.settings)
      html += "<tr><td>" + escape_html(setting.key) + "</td><td>" + escape_html(setting.value) +
              "</td></tr>\n";
    return html + "</table>\n";
  }

  std::string plots() const {
    return waits_over_time() + waits() + pickups_over_time() + pickups() + service_over_time() +
           states_over_time() + waiting_over_time() + unmet_map();
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

  std::string over_time(std::string title, std::string y_title,
                        std::vector<PlotSeries> series) const {
    return draw_lines(
        {std::move(title), "minutes from the start", std::move(y_title), std::move(series)});
  }

  std::string waits_over_time() const {
    Means waits(*this);
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        waits.add(ride.request.time_us, static_cast<double>(ride.wait_us()) / 1e6);
    return over_time("Wait until pick-up, by time of request", "seconds, mean",
                     {{"wait", waits.points()}});
  }

  std::string pickups_over_time() const {
    Means distances(*this);
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        distances.add(ride.assigned_us, static_cast<double>(ride.pickup_mm) / 1e3);
    return over_time("Pick-up distance, by time of assignment", "metres, mean",
                     {{"distance", distances.points()}});
  }

  std::string service_over_time() const {
    Means served(*this);
    for (const Ride& ride : simulation_.rides())
      served.add(ride.request.time_us, ride.state == RideState::dropped_off ? 100 : 0);
    return over_time("Service rate, by time of request", "per cent of requests",
                     {{"served", served.points()}});
  }

  std::string states_over_time() const {
    Means occupied(*this);
    Means to_pickup(*this);
    Means idle(*this);
    for (const PeriodRecord& period : simulation_.periods()) {
      const double drivers = period.idle + period.to_pickup + period.occupied;
      occupied.add(period.time_us, 100.0 * period.occupied, drivers);
      to_pickup.add(period.time_us, 100.0 * period.to_pickup, drivers);
      idle.add(period.time_us, 100.0 * period.idle, drivers);
    }
    return over_time("Utilisation: drivers by state", "per cent of drivers",
                     {{"with a rider", occupied.points()},
                      {"to a rider", to_pickup.points()},
                      {"idle", idle.points()}});
  }

  std::string waiting_over_time() const {
    Means waiting(*this);
    for (const PeriodRecord& period : simulation_.periods())
      waiting.add(period.time_us, period.waiting);
    return over_time("Riders waiting for a driver", "riders, mean",
                     {{"waiting", waiting.points()}});
  }

  static std::string bars(std::string title, std::string x_title, std::vector<double> values) {
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
    return draw_bars(
        {std::move(title), std::move(x_title), "rides", bar_width, std::move(heights)});
  }

  std::string waits() const {
    std::vector<double> values;
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        values.push_back(static_cast<double>(ride.wait_us()) / 1e6);
    return bars("Waits (without the longest 1 %)", "seconds", std::move(values));
  }

  std::string pickups() const {
    std::vector<double> values;
    for (const Ride& ride : simulation_.rides())
      if (ride.state == RideState::dropped_off)
        values.push_back(static_cast<double>(ride.pickup_mm) / 1e3);
    return bars("Pick-up distances (without the longest 1 %)", "metres", std::move(values));
  }

  std::string unmet_map() const {
    Area area;
    std::size_t unmet = 0;
    for (const Ride& ride : simulation_.rides()) area.add(ride.pickup.at);
    if (simulation_.rides().empty()) area = demand_.area;
    const double cell_m =
        std::max({area.width_m(), area.height_m(), 1.0}) / static_cast<double>(map_cells_wide);
    MapPlot map{
        .title = "Unmet demand: where riders gave up", .note = {}, .area = area, .cells = {}};
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
               " m; the darkest square has " + format_number(most, 0) + "; north is up";
    return draw_map(map);
  }

  const Simulation& simulation_;
  const Demand& demand_;
  const RunSummary& summary_;
  std::int64_t start_us_ = 0;
  double bucket_us_ = 60e6;
  std::size_t bucket_count_ = 1;
};

}  // namespace

const char* const report_style =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:1180px;"
    "margin:2em auto;padding:0 1em}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "table{border-collapse:collapse}td{padding:.15em 1.2em .15em 0;border-bottom:1px solid #ddd}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}.columns{display:flex;flex-wrap:wrap;"
    "gap:2.5em}.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));"
    "gap:1em}svg{width:100%;height:auto}svg text{font-size:11px;fill:#444}svg "
    ".title{font-size:13px;"
    "font-weight:600;fill:#222}svg .end{text-anchor:end}svg .middle{text-anchor:middle}"
    "svg .grid{stroke:#ddd;fill:none}svg .line{fill:none;stroke-width:1.5}svg .bar{fill:#1f6fb4}"
    "svg .frame{fill:none;stroke:#bbb}svg .unmet{fill:#c0392b}"
    ".sides{display:grid;grid-template-columns:1fr 1fr;gap:2em}";

std::string html_report(const Simulation& simulation, const Demand& demand,
                        const RunSummary& summary) {
  return Report(simulation, demand, summary).text();
}

}  // namespace starling::sim::city
