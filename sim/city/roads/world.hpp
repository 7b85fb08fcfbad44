// SPDX-License-Identifier: Apache-2.0
// A world provides the places of drivers and riders and the routes between them. The fleet drives
// along the routes, and the batch-time policy uses the times of the routes. StraightWorld is a
// plane without obstacles. RoadWorld is a network of roads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "starling/sim/city/roads/plane.hpp"
#include "starling/sim/city/roads/random.hpp"

namespace starling::sim::city {

inline constexpr std::uint32_t no_edge = ~std::uint32_t{0};

/// A point. On roads, the place also has the edge that the point lies on and the offset of the
/// point from the start of the edge.
struct Place {
  Point at;
  std::uint32_t edge = no_edge;
  std::int64_t offset_mm = 0;
};

/// A point of a route. The leg from the previous waypoint to this waypoint is straight and is
/// driven at constant speed. Times and lengths count from the route's start and never decrease.
struct Waypoint {
  Point at;
  std::int64_t time_us = 0;
  std::int64_t length_mm = 0;
  std::uint32_t edge = no_edge;     ///< the edge that the leg lies on
  std::int64_t edge_offset_mm = 0;  ///< offset of the waypoint on that edge
};

/// A route has at least one waypoint, its start.
struct Route {
  std::vector<Waypoint> waypoints;

  std::int64_t time_us() const { return waypoints.back().time_us; }
  std::int64_t length_mm() const { return waypoints.back().length_mm; }
};

class World {
 public:
  virtual ~World() = default;

  /// Describes the world in words, for reports.
  virtual std::string describe() const = 0;
  virtual const Area& area() const = 0;
  /// Returns the place nearest to a point.
  virtual Place place_at(Point point) const = 0;
  /// Replaces the content of `route` by the fastest route from `from` to `to`.
  virtual void find_route(const Place& from, const Place& to, Route& route) const = 0;
  /// Returns a random place near `from`, as the next goal of an idle driver.
  virtual Place wander(const Place& from, Random& random) const = 0;
  /// Fills `times_us` with the time of the fastest route from each place to `to`.
  virtual void find_times(std::span<const Place> from, const Place& to,
                          std::span<std::int64_t> times_us) const = 0;
  /// Returns the highest speed: no route is faster than the straight line at this speed.
  virtual double speed_max_mps() const = 0;
};

}  // namespace starling::sim::city
