// SPDX-License-Identifier: Apache-2.0
// RoadWorld is a world of roads. Places lie on edges. LEMON's Dijkstra finds the fastest routes
// over edges and allowed turns. Routes therefore respect one-way streets and forbidden turns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "starling/sim/city/roads/road_network.hpp"
#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

/// Not thread-safe: even const members write to the working memory of the search.
class RoadWorld : public World {
 public:
  /// The network must be connected; see connect_network.
  explicit RoadWorld(RoadNetwork network);
  ~RoadWorld() override;

  std::string describe() const override;
  const Area& area() const override { return area_; }
  Place place_at(Point point) const override;
  void find_route(const Place& from, const Place& to, Route& route) const override;
  Place wander(const Place& from, Random& random) const override;
  void find_times(std::span<const Place> from, const Place& to,
                  std::span<std::int64_t> times_us) const override;
  double speed_max_mps() const override { return speed_max_mps_; }

 private:
  struct Edge {
    std::vector<Point> shape;
    std::vector<std::int64_t> offsets_mm;  ///< driven length up to each point of the shape
    std::int64_t time_us = 0;

    std::int64_t length_mm() const { return offsets_mm.back(); }
    /// The driving time from the edge's start to `offset_mm`: time_us * offset_mm / length_mm(),
    /// computed so that the product cannot overflow.
    std::int64_t time_at(std::int64_t offset_mm) const {
      return time_us / length_mm() * offset_mm + time_us % length_mm() * offset_mm / length_mm();
    }
  };
  class Search;

  Edge make_edge(const RoadEdge& road);
  void drive(std::uint32_t edge, std::int64_t from_mm, std::int64_t to_mm, Route& route) const;
  std::int64_t time_between(std::uint32_t edge, std::int64_t from_mm, std::int64_t to_mm) const {
    return edges_[edge].time_at(to_mm) - edges_[edge].time_at(from_mm);
  }

  RoadNetwork network_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> predecessors_;
  Area area_;
  double speed_max_mps_ = 0;
  std::unique_ptr<Search> search_;
};

}  // namespace starling::sim::city
