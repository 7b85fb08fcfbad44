// SPDX-License-Identifier: Apache-2.0
// Solves the assignment as a minimum-cost flow with LEMON's network simplex. Arcs have a cost and a
// capacity:
//
//   rider ──cost──▶ driver ──0, capacity 1──▶ sink            a driver in the rider's list
//   rider ──bound──▶ unseen ──0──▶ driver                     a driver in other lists only
//                    unseen ──0, capacity unseen_drivers──▶ sink  a driver in no list
//   rider ──penalty──▶ sink                                   no driver
//
// Two minimum-cost flows differ only by cycles of reduced cost 0 in the residual graph (Ahuja,
// Magnanti, Orlin: Network Flows, 1993, sections 9.3 and 9.4). prefer_early_arcs() moves the flow
// along these cycles to the preferred optimum, so the result does not depend on which optimum the
// solver finds.
#include "starling/sim/city/assignment.hpp"

#include <algorithm>
#include <functional>

#include <lemon/connectivity.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include "starling/knn/base/assert.hpp"

namespace starling::sim::city {
namespace {

using Graph = lemon::SmartDigraph;
using Simplex = lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t>;

/// The sum of all costs stays below this number. The limit also keeps LEMON's own artificial cost
/// within 64 bits.
constexpr std::int64_t total_cost_max = std::int64_t{1} << 60;

class Flow {
 public:
  Flow(const AssignmentProblem& problem, bool with_unseen)
      : problem_(problem),
        with_unseen_(with_unseen),
        costs_(graph_),
        capacities_(graph_),
        supplies_(graph_),
        flow_(graph_),
        potentials_(graph_) {
    choose_scale();
    build();
  }

  Assignment solve() {
    Simplex simplex(graph_);
    simplex.costMap(costs_).upperMap(capacities_).supplyMap(supplies_);
    check_invariant(simplex.run() == Simplex::OPTIMAL, "an assignment always exists");
    simplex.flowMap(flow_);
    simplex.potentialMap(potentials_);
    const bool is_certain = !uses_unseen();
    if (is_certain) drop_charge();
    check_optimal();
    if (is_certain) prefer_early_arcs();
    Assignment result;
    result.driver_of.assign(problem_.riders, unassigned);
    for (std::size_t i = 0; i < problem_.arcs.size(); ++i) {
      if (flow_[arcs_[i]] == 0) continue;
      const AssignmentArc& arc = problem_.arcs[i];
      result.driver_of[arc.rider] = arc.driver;
      ++result.assigned;
      result.cost += arc.cost;
    }
    for (const auto& [rider, arc] : unseen_arcs_)
      if (flow_[arc] != 0) result.uncertain.push_back(rider);
    return result;
  }

 private:
  using Arcs = std::vector<Graph::Arc>;

  // Multiplies all costs by riders + 1. Each use of an unseen driver can then be charged 1 extra
  // without changing the order of the real costs. With this charge, the solver finds an optimum
  // without unseen drivers if there is one, and the result is then certain. If the numbers would
  // become too large, there is no charge, and the result may be uncertain without need.
  void choose_scale() {
    std::int64_t cost_max = 1;
    for (const AssignmentArc& arc : problem_.arcs) cost_max = std::max(cost_max, arc.cost);
    for (const std::int64_t cost : problem_.unseen_cost_min)
      if (cost != AssignmentProblem::knows_all) cost_max = std::max(cost_max, cost);
    const std::int64_t riders = std::int64_t{problem_.riders} + 1;
    scale_ = with_unseen_ ? riders : 1;
    // Serving one more rider must outweigh any extra cost of the other riders.
    const std::int64_t detour_max = cost_max + 1;
    if (detour_max > total_cost_max / riders / riders / scale_) scale_ = 1;
    check_invariant(detour_max <= total_cost_max / riders / riders,
                    "the sum of all costs fits 64 bits");
    penalty_ = riders * detour_max * scale_;
  }

  void build() {
    const std::size_t node_count = std::size_t{problem_.riders} + problem_.drivers + 2;
    graph_.reserveNode(static_cast<int>(node_count));
    graph_.reserveArc(static_cast<int>(problem_.arcs.size() + 2 * node_count));
    sink_ = graph_.addNode();
    unseen_ = graph_.addNode();
    for (std::uint32_t i = 0; i < problem_.riders; ++i) riders_.push_back(graph_.addNode());
    for (std::uint32_t i = 0; i < problem_.drivers; ++i) drivers_.push_back(graph_.addNode());
    for (const Graph::Node rider : riders_) supplies_[rider] = 1;
    supplies_[sink_] = -std::int64_t{problem_.riders};
    for (const Graph::Node driver : drivers_) add_arc(driver, sink_, 0, 1);
    arcs_.reserve(problem_.arcs.size());
    for (const AssignmentArc& arc : problem_.arcs)
      arcs_.push_back(add_arc(riders_[arc.rider], drivers_[arc.driver], arc.cost * scale_, 1));
    if (with_unseen_) add_unseen();
    // These arcs are added last, because a rider's earlier arcs are preferred.
    for (const Graph::Node rider : riders_) add_arc(rider, sink_, penalty_, 1);
  }

  void add_unseen() {
    for (std::uint32_t rider = 0; rider < problem_.riders; ++rider) {
      const std::int64_t cost = problem_.unseen_cost_min[rider];
      if (cost != AssignmentProblem::knows_all)
        unseen_arcs_.emplace_back(rider,
                                  add_arc(riders_[rider], unseen_, cost * scale_ + charge(), 1));
    }
    if (unseen_arcs_.empty()) return;
    for (const Graph::Node driver : drivers_) add_arc(unseen_, driver, 0, 1);
    if (problem_.unseen_drivers > 0) add_arc(unseen_, sink_, 0, problem_.unseen_drivers);
  }

  /// Moves the flow along a cycle of reduced cost 0 that begins with arc `first` and passes no
  /// settled rider. Returns false if no cycle fulfils these conditions.
  bool divert(Graph::Arc first, const Graph::NodeMap<int>& components,
              const Graph::NodeMap<bool>& is_settled) {
    const Graph::Node rider = graph_.source(first);
    const Graph::Arc last = own_arc(rider);
    const Graph::Node goal = graph_.target(last);
    std::vector<Graph::Arc> came_by(static_cast<std::size_t>(graph_.nodeNum()), lemon::INVALID);
    const auto arc_to = [&](Graph::Node node) -> Graph::Arc& {
      return came_by[static_cast<std::size_t>(Graph::id(node))];
    };
    arc_to(graph_.target(first)) = first;
    std::vector<Graph::Node> reached{graph_.target(first)};
    const auto reach = [&](Graph::Node node, Graph::Arc arc) {
      if (arc_to(node) != lemon::INVALID || node == rider || is_settled[node] ||
          components[node] != components[rider] || reduced_cost(arc) != 0)
        return;
      arc_to(node) = arc;
      reached.push_back(node);
    };
    const auto is_found = [&] { return arc_to(goal) != lemon::INVALID; };
    for (std::size_t i = 0; i < reached.size() && !is_found(); ++i) {
      const Graph::Node node = reached[i];
      for (Graph::OutArcIt arc(graph_, node); arc != lemon::INVALID && !is_found(); ++arc)
        if (flow_[arc] < capacities_[arc]) reach(graph_.target(arc), arc);
      for (Graph::InArcIt arc(graph_, node); arc != lemon::INVALID && !is_found(); ++arc)
        if (flow_[arc] > 0) reach(graph_.source(arc), arc);
    }
    if (!is_found()) return false;
    flow_[last] -= 1;
    for (Graph::Node node = goal; node != rider;) {
      const Graph::Arc arc = arc_to(node);
      const bool is_forward = graph_.target(arc) == node;
      flow_[arc] += is_forward ? 1 : -1;
      node = is_forward ? graph_.source(arc) : graph_.target(arc);
    }
    return true;
  }

  Graph::Arc add_arc(Graph::Node from, Graph::Node to, std::int64_t cost, std::int64_t capacity) {
    const Graph::Arc arc = graph_.addArc(from, to);
    costs_[arc] = cost;
    capacities_[arc] = capacity;
    return arc;
  }

  // Checks complementary slackness for each arc, which proves that the solver's flow is optimal.
  void check_optimal() const {
    for (Graph::ArcIt arc(graph_); arc != lemon::INVALID; ++arc) {
      const std::int64_t reduced = reduced_cost(arc);
      const std::int64_t flow = flow_[arc];
      check_invariant((reduced >= 0 || flow == capacities_[arc]) && (reduced <= 0 || flow == 0),
                      "the solver's assignment is optimal");
    }
  }

  std::int64_t reduced_cost(Graph::Arc arc) const {
    return costs_[arc] + potentials_[graph_.source(arc)] - potentials_[graph_.target(arc)];
  }

  std::int64_t charge() const { return scale_ > 1 ? 1 : 0; }

  bool uses_unseen() const {
    return std::ranges::any_of(unseen_arcs_,
                               [&](const auto& rider_arc) { return flow_[rider_arc.second] != 0; });
  }

  // An optimal flow that uses no unseen driver is optimal without the charge, too. This function
  // removes the charge and rounds each potential down to one common remainder modulo scale_, so
  // that the potentials prove the flow optimal. The rounding removes what the charge added,
  // provided that no rider with an arc to the unseen drivers has a potential plus charge of this
  // remainder. Such a remainder exists, because there are more remainders than riders.
  void drop_charge() {
    if (charge() == 0 || unseen_arcs_.empty()) return;
    const auto remainder = [&](std::int64_t value) { return (value % scale_ + scale_) % scale_; };
    std::vector<bool> is_taken(static_cast<std::size_t>(scale_));
    for (const auto& [rider, arc] : unseen_arcs_) {
      is_taken[static_cast<std::size_t>(remainder(potentials_[riders_[rider]] + charge()))] = true;
      costs_[arc] -= charge();
    }
    const std::int64_t shift = std::ranges::find(is_taken, false) - is_taken.begin();
    for (Graph::NodeIt node(graph_); node != lemon::INVALID; ++node)
      potentials_[node] -= remainder(potentials_[node] - shift);
  }

  // Goes through the riders in order and gives each rider the earliest arc that leaves the arcs of
  // all earlier riders unchanged.
  void prefer_early_arcs() {
    if (std::ranges::all_of(riders_,
                            [&](Graph::Node rider) { return earlier_arcs(rider).empty(); }))
      return;
    Graph::NodeMap<int> components(graph_);
    find_components(components);
    Graph::NodeMap<bool> is_settled(graph_, false);
    for (const Graph::Node rider : riders_) {
      for (const Graph::Arc arc : earlier_arcs(rider)) {
        if (components[graph_.target(arc)] != components[rider]) continue;
        if (divert(arc, components, is_settled)) break;
      }
      is_settled[rider] = true;
    }
  }

  Graph::Arc own_arc(Graph::Node rider) const {
    Graph::OutArcIt arc(graph_, rider);
    while (flow_[arc] == 0) ++arc;
    return arc;
  }

  /// Returns the rider's arcs of reduced cost 0 that precede the arc with the rider's flow,
  /// earliest first.
  Arcs earlier_arcs(Graph::Node rider) const {
    const Graph::Arc own = own_arc(rider);
    Arcs arcs;
    for (Graph::OutArcIt arc(graph_, rider); arc != lemon::INVALID; ++arc)
      if (arc < own && reduced_cost(arc) == 0) arcs.push_back(arc);
    std::ranges::sort(arcs, std::less<>());
    return arcs;
  }

  // Finds the strongly connected components of the residual graph over arcs of reduced cost 0. No
  // cycle crosses from one component to another, even after the flow has moved along some cycles.
  void find_components(Graph::NodeMap<int>& components) const {
    Graph residual;
    residual.reserveNode(graph_.nodeNum());
    for (int i = 0; i < graph_.nodeNum(); ++i) residual.addNode();
    const auto twin = [&](Graph::Node node) { return Graph::nodeFromId(Graph::id(node)); };
    for (Graph::ArcIt arc(graph_); arc != lemon::INVALID; ++arc) {
      if (reduced_cost(arc) != 0) continue;
      const Graph::Node from = twin(graph_.source(arc));
      const Graph::Node to = twin(graph_.target(arc));
      if (flow_[arc] < capacities_[arc]) residual.addArc(from, to);
      if (flow_[arc] > 0) residual.addArc(to, from);
    }
    Graph::NodeMap<int> found(residual);
    lemon::stronglyConnectedComponents(residual, found);
    for (Graph::NodeIt node(graph_); node != lemon::INVALID; ++node)
      components[node] = found[twin(node)];
  }

  const AssignmentProblem& problem_;
  const bool with_unseen_;
  Graph graph_;
  Graph::ArcMap<std::int64_t> costs_;
  Graph::ArcMap<std::int64_t> capacities_;
  Graph::NodeMap<std::int64_t> supplies_;
  Graph::ArcMap<std::int64_t> flow_;
  Graph::NodeMap<std::int64_t> potentials_;
  std::int64_t scale_ = 1;
  std::int64_t penalty_ = 0;
  Graph::Node sink_;
  Graph::Node unseen_;
  std::vector<Graph::Node> riders_;
  std::vector<Graph::Node> drivers_;
  std::vector<Graph::Arc> arcs_;
  std::vector<std::pair<std::uint32_t, Graph::Arc>> unseen_arcs_;
};

}  // namespace

Assignment assign(const AssignmentProblem& problem, bool wants_best) {
  if (problem.riders == 0) return {};
  const bool knows_all = std::ranges::all_of(problem.unseen_cost_min, [](std::int64_t cost) {
    return cost == AssignmentProblem::knows_all;
  });
  if (knows_all) return Flow(problem, false).solve();
  Assignment result = Flow(problem, true).solve();
  if (result.uncertain.empty() || !wants_best) return result;
  std::vector<std::uint32_t> uncertain = std::move(result.uncertain);
  result = Flow(problem, false).solve();
  result.uncertain = std::move(uncertain);
  return result;
}

}  // namespace starling::sim::city
