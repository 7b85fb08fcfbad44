// SPDX-License-Identifier: Apache-2.0
// StraightWorld is a world without roads: drivers move in straight lines at a constant speed.
#pragma once

#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

class StraightWorld : public World {
 public:
  StraightWorld(const Area& area, double speed_mps) : area_(area), speed_mps_(speed_mps) {}

  std::string describe() const override;
  const Area& area() const override { return area_; }
  Place place_at(Point point) const override { return {.at = point}; }
  void find_route(const Place& from, const Place& to, Route& route) const override;
  Place wander(const Place& from, Random& random) const override;
  void find_times(std::span<const Place> from, const Place& to,
                  std::span<std::int64_t> times_us) const override;
  double speed_max_mps() const override { return speed_mps_; }

 private:
  std::int64_t time_us(double metres) const;

  Area area_;
  double speed_mps_;
};

}  // namespace starling::sim::city
