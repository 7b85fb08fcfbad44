// SPDX-License-Identifier: Apache-2.0
// Draws requests from a Poisson process with hot spots and a daily curve: see demand.hpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "starling/sim/city/demand.hpp"
#include "starling/sim/city/roads/random.hpp"

namespace starling::sim::city {
namespace {

constexpr double hour_us = 3.6e9;
constexpr double hot_pickups = 0.8;
constexpr double hot_dropoffs = 0.5;
// The standard deviation around a hot spot, as a share of the area's longer side.
constexpr double hot_spot_share = 0.05;

/// The demand at the start of each hour of the day, relative to the average. The curve resembles
/// published curves of city taxis: it is lowest before dawn and highest after work. The sum of the
/// numbers is 24.
constexpr std::array<double, 24> hourly{0.85, 0.60, 0.42, 0.30, 0.24, 0.26, 0.55, 0.95,
                                        1.18, 1.20, 1.14, 1.16, 1.22, 1.20, 1.24, 1.18,
                                        1.04, 1.25, 1.52, 1.58, 1.44, 1.34, 1.22, 0.92};
constexpr double hourly_max = 1.58;

double intensity(double time_us) {
  const double hours = time_us / hour_us;
  const double share = hours - std::floor(hours);
  const auto hour = static_cast<std::size_t>(std::fmod(std::floor(hours), 24));
  return hourly[hour] * (1 - share) + hourly[(hour + 1) % 24] * share;
}

class Places {
 public:
  Places(const Area& area, std::uint32_t hot_spots, Random& random) : area_(area), random_(random) {
    for (std::uint32_t i = 0; i < hot_spots; ++i) {
      // The spot is moved toward the middle of the area. Around a spot at the edge of the area,
      // half of the points would lie outside and would be moved to the edge.
      const Point spot = between(anywhere(), area_.middle(), 0.3);
      spots_.push_back({spot, 1.0 / (i + 1)});
      weight_ += 1.0 / (i + 1);
    }
  }

  Point draw(double hot_share) {
    if (spots_.empty() || random_.unit() >= hot_share) return anywhere();
    double left = random_.unit() * weight_;
    auto spot = spots_.begin();
    for (; spot + 1 != spots_.end() && left >= spot->weight; ++spot) left -= spot->weight;
    const double deviation_m = hot_spot_share * std::max(area_.width_m(), area_.height_m());
    const double x_m = spot->at.x_m + random_.normal() * deviation_m;
    const double y_m = spot->at.y_m + random_.normal() * deviation_m;
    return area_.clamp({x_m, y_m});
  }

 private:
  struct Spot {
    Point at;
    double weight;
  };

  Point anywhere() {
    const double x_m = area_.low.x_m + random_.unit() * area_.width_m();
    const double y_m = area_.low.y_m + random_.unit() * area_.height_m();
    return {x_m, y_m};
  }

  const Area& area_;
  Random& random_;
  std::vector<Spot> spots_;
  double weight_ = 0;
};

}  // namespace

Demand draw_poisson_demand(const PoissonOptions& options) {
  Demand demand;
  demand.start_us = options.start_us;
  demand.end_us = options.start_us + options.length_us;
  demand.area = options.area;
  if (demand.area.low.x_m > demand.area.high.x_m)
    demand.area = {{-options.side_m / 2, -options.side_m / 2},
                   {options.side_m / 2, options.side_m / 2}};
  char source[96];
  std::snprintf(source, sizeof(source), "Poisson, %g requests/h, %u hot spots%s",
                options.requests_per_hour, options.hot_spots,
                options.daily_curve ? ", daily curve" : "");
  demand.source = source;

  Random random(options.seed, Draw::demand);
  Places places(demand.area, options.hot_spots, random);
  // Thinning (Lewis and Shedler 1979): draws requests at the highest rate, and keeps each request
  // with probability (current rate) / (highest rate).
  const double rate_max = options.requests_per_hour * (options.daily_curve ? hourly_max : 1);
  if (!(rate_max > 0)) return demand;
  double time_us = static_cast<double>(options.start_us);
  for (;;) {
    time_us += random.exponential() * hour_us / rate_max;
    if (time_us >= static_cast<double>(demand.end_us)) return demand;
    if (options.daily_curve && random.unit() * hourly_max >= intensity(time_us)) continue;
    Request request{.time_us = static_cast<std::int64_t>(time_us), .pickup = {}, .dropoff = {}};
    request.pickup = places.draw(hot_pickups);
    request.dropoff = places.draw(hot_dropoffs);
    demand.requests.push_back(request);
  }
}

std::string_view to_string(BadRow reason) {
  switch (reason) {
    case BadRow::unparsable:
      return "unparsable";
    case BadRow::null_island:
      return "at 0,0";
    case BadRow::outside_area:
      return "outside the area";
    case BadRow::zero_length:
      return "of zero length";
  }
  return "unknown";
}

}  // namespace starling::sim::city
