// Where drivers and riders can be and how one gets from place to place. The fleet drives through
// it, the policies ask it for pick-up times. One world is a plane without obstacles, the other a
// network of roads.
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

/// A point, and on roads the edge it lies on and how far along.
struct Place {
  Point at;
  std::uint32_t edge = no_edge;
  std::int64_t offset_mm = 0;
};

/// Straight on from the waypoint before, at constant speed. Times and lengths count from the
/// route's start and never go down.
struct Waypoint {
  Point at;
  std::int64_t time_us = 0;
  std::int64_t length_mm = 0;
  std::uint32_t edge = no_edge;     ///< driven on towards this waypoint
  std::int64_t edge_offset_mm = 0;  ///< of the waypoint on that edge
};

/// At least one waypoint, the start.
struct Route {
  std::vector<Waypoint> waypoints;

  std::int64_t time_us() const { return waypoints.back().time_us; }
  std::int64_t length_mm() const { return waypoints.back().length_mm; }
};

class World {
 public:
  virtual ~World() = default;

  /// In a phrase, for reports.
  virtual std::string describe() const = 0;
  virtual const Area& area() const = 0;
  /// The nearest place to a point.
  virtual Place place_at(Point point) const = 0;
  /// Replaces what `route` holds by the fastest way.
  virtual void find_route(const Place& from, const Place& to, Route& route) const = 0;
  /// Somewhere near, for one who has no fare.
  virtual Place wander(const Place& from, Random& random) const = 0;
  /// How long the fastest way takes from each place to `to`; one time a place.
  virtual void find_times(std::span<const Place> from, const Place& to,
                          std::span<std::int64_t> times_us) const = 0;
  /// No way is faster than the straight line at this speed.
  virtual double speed_max_mps() const = 0;
};

}  // namespace starling::sim::city
