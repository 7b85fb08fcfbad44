// SPDX-License-Identifier: Apache-2.0
// Finds places with an R-tree, and routes and times with Dijkstra: see road_world.hpp.
#include "starling/sim/city/roads/road_world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <boost/geometry.hpp>
#include <boost/geometry/geometries/point_xy.hpp>
#include <boost/geometry/geometries/segment.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <lemon/adaptors.h>
#include <lemon/dijkstra.h>
#include <lemon/static_graph.h>

#include "starling/knn/base/assert.hpp"

namespace starling::sim::city {
namespace {

namespace bg = boost::geometry;
using BoostPoint = bg::model::d2::point_xy<double>;
using BoostSegment = bg::model::segment<BoostPoint>;

// place_at() compares this many segments. It needs more than one, because a street's two directions
// are equally near.
constexpr std::size_t near_segments = 8;
constexpr int wander_edges = 4;

struct SegmentName {
  std::uint32_t edge = 0;
  std::uint32_t part = 0;
};
using SegmentTree = bg::index::rtree<std::pair<BoostSegment, SegmentName>, bg::index::rstar<16>>;

/// Finds the point nearest to `point` on the segment from a to b. Returns its position as a share
/// of the way from a to b.
double share_along(Point a, Point b, Point point) {
  const double x_m = b.x_m - a.x_m;
  const double y_m = b.y_m - a.y_m;
  const double length_sq = x_m * x_m + y_m * y_m;
  if (length_sq == 0) return 0;
  return std::clamp(((point.x_m - a.x_m) * x_m + (point.y_m - a.y_m) * y_m) / length_sq, 0.0, 1.0);
}

}  // namespace

/// The searches run on a graph whose nodes are the network's edges and whose arcs are the turns.
/// The cost of an arc is the driving time on the edge that the turn leads into.
class RoadWorld::Search {
 public:
  using Graph = lemon::StaticDigraph;
  using Times = Graph::ArcMap<std::int64_t>;
  using Backward = lemon::ReverseDigraph<const Graph>;

  /// Stores the arc by which a search reached each node. LEMON's own map for these arcs uses
  /// allocator members that C++20 removed.
  class TurnsTaken {
   public:
    using Key = Graph::Node;
    using Value = Graph::Arc;
    explicit TurnsTaken(const Graph& graph)
        : turns_(static_cast<std::size_t>(graph.nodeNum()), lemon::INVALID) {}
    void set(Key key, Value value) { turns_[static_cast<std::size_t>(Graph::id(key))] = value; }
    Value operator[](Key key) const { return turns_[static_cast<std::size_t>(Graph::id(key))]; }

   private:
    std::vector<Value> turns_;
  };
  using Forwards = lemon::Dijkstra<Graph, Times>::SetPredMap<TurnsTaken>::Create;
  using Backwards =
      lemon::Dijkstra<const Backward,
                      Times>::SetPredMap<lemon::NullMap<Graph::Node, Graph::Arc>>::Create;

  Search(const std::vector<Edge>& edges, const RoadNetwork& network)
      : times_(graph_), backward_graph_(graph_) {
    std::vector<std::pair<int, int>> turns;
    for (std::size_t edge = 0; edge < edges.size(); ++edge)
      for (const std::uint32_t next : network.successors[edge])
        turns.emplace_back(static_cast<int>(edge), static_cast<int>(next));
    graph_.build(static_cast<int>(edges.size()), turns.begin(), turns.end());
    for (Graph::ArcIt arc(graph_); arc != lemon::INVALID; ++arc)
      times_[arc] = edges[static_cast<std::size_t>(Graph::id(graph_.target(arc)))].time_us;
    forward_ = std::make_unique<Forwards>(graph_, times_);
    turns_taken_.emplace(graph_);
    forward_->predMap(*turns_taken_);
    backward_ = std::make_unique<Backwards>(backward_graph_, times_);
    backward_->predMap(no_turns_);

    std::vector<SegmentTree::value_type> segments;
    for (std::uint32_t edge = 0; edge < edges.size(); ++edge)
      for (std::uint32_t part = 0; part + 1 < edges[edge].shape.size(); ++part) {
        const Point a = edges[edge].shape[part];
        const Point b = edges[edge].shape[part + 1];
        segments.push_back({{{a.x_m, a.y_m}, {b.x_m, b.y_m}}, {edge, part}});
      }
    segments_ = SegmentTree(segments);
  }

  /// Fills `way` with the edges that follow edge `from` on the fastest way to the end of any edge
  /// of `into`. The last edge in `way` is the edge of `into` that is reached. If `from` is in
  /// `into`, `way` is empty.
  void find_way(std::uint32_t from, std::span<const std::uint32_t> into,
                std::vector<std::uint32_t>& way) {
    forward_->init();
    forward_->addSource(node(from));
    way.clear();
    while (!forward_->emptyQueue()) {
      const Graph::Node reached = forward_->processNextNode();
      const auto edge = static_cast<std::uint32_t>(Graph::id(reached));
      if (std::ranges::find(into, edge) == into.end()) continue;
      for (Graph::Node at = reached; at != node(from); at = forward_->predNode(at))
        way.push_back(static_cast<std::uint32_t>(Graph::id(at)));
      std::ranges::reverse(way);
      return;
    }
    check_invariant(false, "a connected network has a way");
  }

  /// Fills `times_us` with the least times from the end of each place's edge to the end of any edge
  /// of `into`.
  void find_times(std::span<const Place> from, std::span<const std::uint32_t> into,
                  std::span<std::int64_t> times_us) {
    backward_->init();
    for (const std::uint32_t edge : into) backward_->addSource(node(edge));
    std::size_t open = from.size();
    std::ranges::fill(times_us, -1);
    while (open > 0 && !backward_->emptyQueue()) {
      const Graph::Node reached = backward_->processNextNode();
      const auto edge = static_cast<std::uint32_t>(Graph::id(reached));
      for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i].edge == edge) {
          times_us[i] = backward_->dist(reached);
          --open;
        }
    }
    check_invariant(open == 0, "a connected network has a way");
  }

  const SegmentTree& segments() const { return segments_; }

 private:
  static Graph::Node node(std::uint32_t edge) { return Graph::node(static_cast<int>(edge)); }

  Graph graph_;
  Times times_;
  Backward backward_graph_;
  std::optional<TurnsTaken> turns_taken_;
  lemon::NullMap<Graph::Node, Graph::Arc> no_turns_;
  std::unique_ptr<Forwards> forward_;
  std::unique_ptr<Backwards> backward_;
  SegmentTree segments_;
};

RoadWorld::RoadWorld(RoadNetwork network) : network_(std::move(network)) {
  predecessors_.resize(network_.edges.size());
  for (std::uint32_t edge = 0; edge < network_.edges.size(); ++edge) {
    edges_.push_back(make_edge(network_.edges[edge]));
    for (const std::uint32_t next : network_.successors[edge]) predecessors_[next].push_back(edge);
  }
  search_ = std::make_unique<Search>(edges_, network_);
}

RoadWorld::~RoadWorld() = default;

// Rounds lengths up, so that no route is shorter than the straight line. If the road is longer than
// its shape, the excess is spread evenly along the shape.
RoadWorld::Edge RoadWorld::make_edge(const RoadEdge& road) {
  Edge edge{.shape = road.shape, .offsets_mm = {0}};
  double length_m = 0;
  for (std::size_t i = 1; i < road.shape.size(); ++i)
    length_m += distance_m(road.shape[i - 1], road.shape[i]);
  const double stretch = length_m > 0 ? std::max(road.length_m / length_m, 1.0) : 1;
  double so_far_m = 0;
  for (std::size_t i = 1; i < road.shape.size(); ++i) {
    so_far_m += distance_m(road.shape[i - 1], road.shape[i]) * stretch;
    edge.offsets_mm.push_back(static_cast<std::int64_t>(std::ceil(so_far_m * 1000)));
  }
  edge.offsets_mm.back() = std::max<std::int64_t>(
      {edge.offsets_mm.back(), static_cast<std::int64_t>(std::ceil(road.length_m * 1000)), 1});
  edge.time_us = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(edge.length_mm()) * 1000 / road.speed_mps));
  for (const Point point : edge.shape) area_.add(point);
  speed_max_mps_ = std::max(speed_max_mps_, road.speed_mps);
  return edge;
}

std::string RoadWorld::describe() const {
  return network_.name + ", " + std::to_string(edges_.size()) + " edges";
}

Place RoadWorld::place_at(Point point) const {
  const BoostPoint at(point.x_m, point.y_m);
  Place best;
  double best_m = std::numeric_limits<double>::infinity();
  for (auto found = search_->segments().qbegin(bg::index::nearest(at, near_segments));
       found != search_->segments().qend(); ++found) {
    const SegmentName name = found->second;
    const Edge& edge = edges_[name.edge];
    const Point a = edge.shape[name.part];
    const Point b = edge.shape[name.part + 1];
    const double share = share_along(a, b, point);
    const Point foot = between(a, b, share);
    const double metres = distance_m(foot, point);
    if (metres > best_m || (metres == best_m && name.edge > best.edge)) continue;
    best_m = metres;
    const std::int64_t from_mm = edge.offsets_mm[name.part];
    const std::int64_t to_mm = edge.offsets_mm[name.part + 1];
    best = {foot, name.edge, from_mm + std::llround(static_cast<double>(to_mm - from_mm) * share)};
  }
  return best;
}

/// Appends to `route` the drive along an edge from offset `from_mm` to offset `to_mm`.
void RoadWorld::drive(std::uint32_t edge_index, std::int64_t from_mm, std::int64_t to_mm,
                      Route& route) const {
  const Edge& edge = edges_[edge_index];
  const std::int64_t time_us = route.time_us() - edge.time_at(from_mm);
  const std::int64_t length_mm = route.length_mm() - from_mm;
  const auto add = [&](Point at, std::int64_t offset_mm) {
    route.waypoints.push_back({.at = at,
                               .time_us = time_us + edge.time_at(offset_mm),
                               .length_mm = length_mm + offset_mm,
                               .edge = edge_index,
                               .edge_offset_mm = offset_mm});
  };
  std::size_t i = 1;
  while (edge.offsets_mm[i] <= from_mm && i + 1 < edge.shape.size()) ++i;
  for (; edge.offsets_mm[i] < to_mm; ++i) add(edge.shape[i], edge.offsets_mm[i]);
  const std::int64_t begin_mm = edge.offsets_mm[i - 1];
  const double share = edge.offsets_mm[i] == begin_mm
                           ? 1.0
                           : static_cast<double>(to_mm - begin_mm) /
                                 static_cast<double>(edge.offsets_mm[i] - begin_mm);
  add(between(edge.shape[i - 1], edge.shape[i], share), to_mm);
}

void RoadWorld::find_route(const Place& from, const Place& to, Route& route) const {
  route.waypoints.assign({{.at = from.at, .edge = from.edge, .edge_offset_mm = from.offset_mm}});
  if (from.edge == to.edge && from.offset_mm <= to.offset_mm)
    return drive(from.edge, from.offset_mm, to.offset_mm, route);
  std::vector<std::uint32_t> way;
  search_->find_way(from.edge, predecessors_[to.edge], way);
  drive(from.edge, from.offset_mm, edges_[from.edge].length_mm(), route);
  for (const std::uint32_t edge : way) drive(edge, 0, edges_[edge].length_mm(), route);
  drive(to.edge, 0, to.offset_mm, route);
}

Place RoadWorld::wander(const Place& from, Random& random) const {
  std::uint32_t edge = from.edge;
  for (int i = 0; i < wander_edges; ++i) {
    const std::vector<std::uint32_t>& next = network_.successors[edge];
    edge = next[random.below(next.size())];
  }
  return {edges_[edge].shape.back(), edge, edges_[edge].length_mm()};
}

void RoadWorld::find_times(std::span<const Place> from, const Place& to,
                           std::span<std::int64_t> times_us) const {
  if (from.empty()) return;
  search_->find_times(from, predecessors_[to.edge], times_us);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Place& place = from[i];
    if (place.edge == to.edge && place.offset_mm <= to.offset_mm) {
      times_us[i] = time_between(place.edge, place.offset_mm, to.offset_mm);
      continue;
    }
    times_us[i] += time_between(place.edge, place.offset_mm, edges_[place.edge].length_mm()) +
                   time_between(to.edge, 0, to.offset_mm);
  }
}

}  // namespace starling::sim::city
