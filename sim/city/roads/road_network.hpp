// Roads: one-way edges with shape and speed, and which edge one may turn into from which. Read from
// SUMO's network files or laid out as a grid; RoadWorld drives on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "starling/sim/city/roads/plane.hpp"

namespace starling::sim::city {

struct RoadEdge {
  std::string id;
  std::vector<Point> shape;  ///< at least two points
  double speed_mps = 0;
  double length_m = 0;  ///< driven; not less than the shape's, and 0 stands for that
};

struct RoadNetwork {
  std::string name;
  std::vector<RoadEdge> edges;
  std::vector<std::vector<std::uint32_t>> successors;  ///< by edge, each once
};

/// SUMO's .net.xml: ordinary edges that taxis or passenger cars may use, between their junctions'
/// positions or along their own shape; connections where there are any, else every turn at a
/// junction. Throws InputError, with the line and the edge at fault.
RoadNetwork read_sumo_network(const std::string& path);

struct GridOptions {
  Area area;
  double block_m = 200;
};

/// Two-way streets around square blocks; every fifth is a faster avenue. Nobody turns back but at a
/// corner of the town. Throws UsageError where that would be too many.
RoadNetwork make_grid_network(const GridOptions& options);

/// Every edge must lead to every other. With `keeps_largest` those that do not are left out; else
/// throws InputError, which names an edge without a way to another.
void connect_network(RoadNetwork& network, bool keeps_largest);

}  // namespace starling::sim::city
