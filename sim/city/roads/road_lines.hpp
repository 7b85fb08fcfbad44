// SPDX-License-Identifier: Apache-2.0
// Writes a road network as lines on a plane, for a map. `starling serve` and `starling view` answer
// GET /v1/network with this text.
#pragma once

#include <cstddef>
#include <string>

#include "starling/sim/city/roads/road_network.hpp"

namespace starling::sim::city {

/// Returns {"name":"...","lines":[[x,y,x,y,...],...]} with one line for each edge. Coordinates are
/// in metres, rounded to centimetres. Two edges with the same points, in either direction, share
/// one line. Throws InputError if the text would have more than `bytes_max` bytes.
std::string road_lines_json(const RoadNetwork& network, std::size_t bytes_max);

}  // namespace starling::sim::city
