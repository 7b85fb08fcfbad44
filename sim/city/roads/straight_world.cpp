// SPDX-License-Identifier: Apache-2.0
// Finds routes that are straight lines at one speed: see straight_world.hpp.
#include "starling/sim/city/roads/straight_world.hpp"

#include <cmath>
#include <cstdio>

namespace starling::sim::city {
namespace {

constexpr double wander_m = 500;  // standard deviation of an idle trip along each axis

}  // namespace

std::string StraightWorld::describe() const {
  char text[64];
  std::snprintf(text, sizeof(text), "straight lines at %.1f km/h", speed_mps_ * 3.6);
  return text;
}

// Rounds up, so that no driver exceeds the speed.
std::int64_t StraightWorld::time_us(double metres) const {
  return static_cast<std::int64_t>(std::ceil(metres / speed_mps_ * 1e6));
}

void StraightWorld::find_route(const Place& from, const Place& to, Route& route) const {
  const double metres = distance_m(from.at, to.at);
  route.waypoints.assign(
      {{.at = from.at}, {.at = to.at, .time_us = time_us(metres), .length_mm = to_mm(metres)}});
}

Place StraightWorld::wander(const Place& from, Random& random) const {
  const Point to{from.at.x_m + random.normal() * wander_m,
                 from.at.y_m + random.normal() * wander_m};
  return {.at = area_.clamp(to)};
}

void StraightWorld::find_times(std::span<const Place> from, const Place& to,
                               std::span<std::int64_t> times_us) const {
  for (std::size_t i = 0; i < from.size(); ++i)
    times_us[i] = time_us(distance_m(from[i].at, to.at));
}

}  // namespace starling::sim::city
