// SPDX-License-Identifier: Apache-2.0
// A road network: one-way edges with shape and speed, and the allowed turns between them. A network
// is read from a SUMO network file or generated as a grid. RoadWorld finds routes on a network.
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
  double length_m = 0;  ///< driven length; if the shape is longer, the shape's length counts
};

struct RoadNetwork {
  std::string name;
  std::vector<RoadEdge> edges;
  std::vector<std::vector<std::uint32_t>> successors;  ///< [edge]: the edges that may follow
};

/// Reads SUMO's .net.xml: the ordinary edges that taxis or passenger cars may use. An edge without
/// a shape is the straight line between its junctions. Turns are the file's connections. If the
/// file has no connections, every turn at a junction is allowed. Throws InputError with the line
/// and the faulty edge.
RoadNetwork read_sumo_network(const std::string& path);

struct GridOptions {
  Area area;
  double block_m = 200;
};

/// Makes two-way streets around square blocks; every fifth street is a faster avenue. U-turns are
/// not allowed. Throws UsageError if the grid would have more than 2 million edges.
RoadNetwork make_grid_network(const GridOptions& options);

/// Checks that a route leads from every edge to every edge, including the edge itself. Otherwise,
/// if `keeps_largest` is set, keeps only the largest strongly connected part, provided that it has
/// several edges. Throws InputError if the check fails and no part is kept; the message names two
/// edges without a route from one to the other.
void connect_network(RoadNetwork& network, bool keeps_largest);

}  // namespace starling::sim::city
