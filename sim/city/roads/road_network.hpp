// SPDX-License-Identifier: Apache-2.0
// A road network: one-way edges with shape and speed, and the allowed turns between them. It is
// read from a SUMO network file or generated as a grid. RoadWorld routes on it.
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
  double length_m = 0;  ///< driven length; if less than the shape's length, that one counts
};

struct RoadNetwork {
  std::string name;
  std::vector<RoadEdge> edges;
  std::vector<std::vector<std::uint32_t>> successors;  ///< by edge: the edges to turn into
};

/// Reads SUMO's .net.xml: the ordinary edges that taxis or passenger cars may use. An edge without
/// a shape is the straight line between its junctions. Turns are the file's connections; if it has
/// none, every turn at a junction is allowed. Throws InputError with the line and the faulty edge.
RoadNetwork read_sumo_network(const std::string& path);

struct GridOptions {
  Area area;
  double block_m = 200;
};

/// Makes two-way streets around square blocks; every fifth street is a faster avenue. U-turns are
/// not allowed. Throws UsageError if the grid would have more than 2 million edges.
RoadNetwork make_grid_network(const GridOptions& options);

/// Checks that every edge leads to every other. With `keeps_largest`, reduces the network to its
/// largest part with that property. Otherwise throws InputError, which names two edges without a
/// way from one to the other.
void connect_network(RoadNetwork& network, bool keeps_largest);

}  // namespace starling::sim::city
