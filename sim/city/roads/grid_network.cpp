// SPDX-License-Identifier: Apache-2.0
// Generates the network of square blocks, and checks that a network is connected: see
// road_network.hpp.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <lemon/connectivity.h>
#include <lemon/smart_graph.h>

#include "starling/sim/city/roads/road_network.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim::city {
namespace {

constexpr double street_mps = 30 / 3.6;
constexpr double avenue_mps = 50 / 3.6;
constexpr std::uint32_t avenue_every = 5;
constexpr double edges_max = 2e6;

class GridBuilder {
 public:
  explicit GridBuilder(const GridOptions& options) : options_(options) {
    const double columns = std::ceil(options.area.width_m() / options.block_m) + 1;
    const double rows = std::ceil(options.area.height_m() / options.block_m) + 1;
    if (4 * columns * rows > edges_max)
      throw UsageError("--block-m: the grid would have more than 2 million edges");
    // The grid has at least 3 x 3 corners. On a single block, a driver could change direction only
    // by a U-turn.
    columns_ = std::max(3u, static_cast<std::uint32_t>(columns));
    rows_ = std::max(3u, static_cast<std::uint32_t>(rows));
  }

  RoadNetwork build() {
    char name[64];
    std::snprintf(name, sizeof(name), "a grid of %u x %u streets, %g m apart", columns_, rows_,
                  options_.block_m);
    network_.name = name;
    leaving_.resize(std::size_t{columns_} * rows_);
    for (std::uint32_t row = 0; row < rows_; ++row)
      for (std::uint32_t column = 0; column < columns_; ++column) {
        if (column + 1 < columns_) add_street({column, row}, {column + 1, row}, row);
        if (row + 1 < rows_) add_street({column, row}, {column, row + 1}, column);
      }
    network_.successors.resize(network_.edges.size());
    for (std::uint32_t edge = 0; edge < network_.edges.size(); ++edge)
      for (const std::uint32_t next : leaving_[ends_[edge]])
        if (next != (edge ^ 1)) network_.successors[edge].push_back(next);
    return std::move(network_);
  }

 private:
  struct Corner {
    std::uint32_t column = 0;
    std::uint32_t row = 0;
  };

  // Adds both directions one after the other. The opposite of edge e is therefore edge e ^ 1.
  void add_street(Corner from, Corner to, std::uint32_t number) {
    const double speed_mps = number % avenue_every == 0 ? avenue_mps : street_mps;
    add_edge(from, to, speed_mps);
    add_edge(to, from, speed_mps);
  }

  void add_edge(Corner from, Corner to, double speed_mps) {
    char id[64];
    std::snprintf(id, sizeof(id), "%u/%u-%u/%u", from.column, from.row, to.column, to.row);
    leaving_[number(from)].push_back(static_cast<std::uint32_t>(network_.edges.size()));
    ends_.push_back(number(to));
    network_.edges.push_back({id, {at(from), at(to)}, speed_mps, 0});
  }

  std::size_t number(Corner corner) const {
    return std::size_t{corner.row} * columns_ + corner.column;
  }
  Point at(Corner corner) const {
    return {options_.area.low.x_m + corner.column * options_.block_m,
            options_.area.low.y_m + corner.row * options_.block_m};
  }

  const GridOptions& options_;
  std::uint32_t columns_ = 0;
  std::uint32_t rows_ = 0;
  RoadNetwork network_;
  std::vector<std::vector<std::uint32_t>> leaving_;  ///< each corner's outgoing edges
  std::vector<std::size_t> ends_;                    ///< each edge's end corner
};

bool leads_to(const RoadNetwork& network, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(network.edges.size());
  std::vector<std::uint32_t> open{from};
  seen[from] = true;
  while (!open.empty()) {
    const std::uint32_t edge = open.back();
    open.pop_back();
    if (edge == to) return true;
    for (const std::uint32_t next : network.successors[edge])
      if (!seen[next]) {
        seen[next] = true;
        open.push_back(next);
      }
  }
  return false;
}

void keep_part(RoadNetwork& network, const std::vector<int>& part_of, int kept) {
  std::vector<std::uint32_t> new_index(network.edges.size());
  std::uint32_t count = 0;
  for (std::size_t edge = 0; edge < network.edges.size(); ++edge)
    if (part_of[edge] == kept) new_index[edge] = count++;
  RoadNetwork part{.name = network.name, .edges = {}, .successors = {}};
  for (std::size_t edge = 0; edge < network.edges.size(); ++edge) {
    if (part_of[edge] != kept) continue;
    part.edges.push_back(std::move(network.edges[edge]));
    std::vector<std::uint32_t>& successors = part.successors.emplace_back();
    for (const std::uint32_t next : network.successors[edge])
      if (part_of[next] == kept) successors.push_back(new_index[next]);
  }
  network = std::move(part);
}

}  // namespace

RoadNetwork make_grid_network(const GridOptions& options) {
  return GridBuilder(options).build();
}

void connect_network(RoadNetwork& network, bool keeps_largest) {
  using Graph = lemon::SmartDigraph;
  Graph graph;
  for (std::size_t edge = 0; edge < network.edges.size(); ++edge) graph.addNode();
  for (std::size_t edge = 0; edge < network.edges.size(); ++edge)
    for (const std::uint32_t next : network.successors[edge])
      graph.addArc(Graph::nodeFromId(static_cast<int>(edge)),
                   Graph::nodeFromId(static_cast<int>(next)));
  Graph::NodeMap<int> part_map(graph);
  const int parts = lemon::stronglyConnectedComponents(graph, part_map);
  if (parts == 1) {
    if (network.edges.size() > 1 || !network.successors.front().empty()) return;
    throw InputError(network.name + ": no way leads on from its only edge " +
                     quoted_text(network.edges.front().id) + "; drivers need a way back");
  }
  std::vector<int> part_of(network.edges.size());
  std::vector<std::size_t> sizes(static_cast<std::size_t>(parts));
  for (std::size_t edge = 0; edge < part_of.size(); ++edge) {
    part_of[edge] = part_map[Graph::nodeFromId(static_cast<int>(edge))];
    ++sizes[static_cast<std::size_t>(part_of[edge])];
  }
  const auto largest_at = std::ranges::max_element(sizes);
  const int largest = static_cast<int>(largest_at - sizes.begin());
  if (keeps_largest && *largest_at > 1) return keep_part(network, part_of, largest);
  const auto inside =
      static_cast<std::uint32_t>(std::ranges::find(part_of, largest) - part_of.begin());
  const auto outside = static_cast<std::uint32_t>(
      std::ranges::find_if(part_of, [&](int part) { return part != largest; }) - part_of.begin());
  const bool is_dead_end = leads_to(network, inside, outside);
  const std::string& from = network.edges[is_dead_end ? outside : inside].id;
  const std::string& to = network.edges[is_dead_end ? inside : outside].id;
  const std::string gap = network.name + ": no way leads from edge " + quoted_text(from) +
                          " to edge " + quoted_text(to) + "; ";
  if (*largest_at == 1)
    throw InputError(gap + "no edge has a way back to itself, and drivers need one");
  throw InputError(gap + "the network falls into " + std::to_string(parts) +
                   " parts, and the largest has " + std::to_string(*largest_at) + " of " +
                   std::to_string(network.edges.size()) +
                   " edges (--largest-part keeps only that one)");
}

}  // namespace starling::sim::city
