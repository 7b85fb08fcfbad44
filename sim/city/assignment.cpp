// The assignment as a flow of least cost, solved by LEMON's network simplex:
//
//   rider ──cost──▶ driver ──0, at most 1──▶ sink       whom the lists show
//   rider ──bound──▶ unseen ──0──▶ driver               a driver of another's list
//                    unseen ──0, at most so many──▶ sink  one of no list
//   rider ──penalty──▶ sink                             nobody
#include "sim/city/assignment.hpp"

#include <algorithm>

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include "knn/assert.hpp"

namespace starling::sim::city {
namespace {

using Graph = lemon::SmartDigraph;
using Simplex = lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t>;

/// Sums of all costs stay below it, which leaves LEMON room for its own artificial cost.
constexpr std::int64_t total_cost_max = std::int64_t{1} << 60;

class Flow {
 public:
  Flow(const AssignmentProblem& problem, bool with_unseen)
      : problem_(problem),
        with_unseen_(with_unseen),
        costs_(graph_),
        capacities_(graph_),
        supplies_(graph_) {
    choose_scale();
    build();
  }

  Assignment solve() {
    Simplex simplex(graph_);
    simplex.costMap(costs_).upperMap(capacities_).supplyMap(supplies_);
    check_invariant(simplex.run() == Simplex::OPTIMAL, "an assignment always exists");
    check_optimal(simplex);
    Assignment result;
    result.driver_of.assign(problem_.riders, unassigned);
    for (std::size_t i = 0; i < problem_.arcs.size(); ++i) {
      if (simplex.flow(arcs_[i]) == 0) continue;
      const AssignmentArc& arc = problem_.arcs[i];
      result.driver_of[arc.rider] = arc.driver;
      ++result.assigned;
      result.cost += arc.cost;
    }
    for (const auto& [rider, arc] : unseen_arcs_)
      if (simplex.flow(arc) != 0) result.uncertain.push_back(rider);
    return result;
  }

 private:
  // A multiple of the costs leaves room to charge 1 for each use of the unseen: at equal cost the
  // seen are taken, and what is certain is not doubted. Where numbers would become too large, the
  // doubt stays.
  void choose_scale() {
    std::int64_t cost_max = 1;
    for (const AssignmentArc& arc : problem_.arcs) cost_max = std::max(cost_max, arc.cost);
    for (const std::int64_t cost : problem_.unseen_cost_min)
      if (cost != AssignmentProblem::knows_all) cost_max = std::max(cost_max, cost);
    const std::int64_t riders = std::int64_t{problem_.riders} + 1;
    scale_ = with_unseen_ ? riders : 1;
    // One rider more is worth any detour of the others.
    const auto penalty = [&] { return riders * (cost_max * scale_ + 1); };
    if (cost_max > total_cost_max / riders / riders / scale_) scale_ = 1;
    check_invariant(cost_max <= total_cost_max / riders / riders, "costs that can be added up");
    penalty_ = penalty();
  }

  void build() {
    const std::size_t node_count = std::size_t{problem_.riders} + problem_.drivers + 2;
    graph_.reserveNode(static_cast<int>(node_count));
    graph_.reserveArc(static_cast<int>(problem_.arcs.size() + 2 * node_count));
    sink_ = graph_.addNode();
    unseen_ = graph_.addNode();
    for (std::uint32_t i = 0; i < problem_.riders; ++i) riders_.push_back(graph_.addNode());
    for (std::uint32_t i = 0; i < problem_.drivers; ++i) drivers_.push_back(graph_.addNode());
    for (const Graph::Node rider : riders_) {
      supplies_[rider] = 1;
      add_arc(rider, sink_, penalty_, 1);
    }
    supplies_[sink_] = -std::int64_t{problem_.riders};
    for (const Graph::Node driver : drivers_) add_arc(driver, sink_, 0, 1);
    arcs_.reserve(problem_.arcs.size());
    for (const AssignmentArc& arc : problem_.arcs)
      arcs_.push_back(add_arc(riders_[arc.rider], drivers_[arc.driver], arc.cost * scale_, 1));
    if (with_unseen_) add_unseen();
  }

  void add_unseen() {
    const std::int64_t charge = scale_ > 1 ? 1 : 0;
    for (std::uint32_t rider = 0; rider < problem_.riders; ++rider) {
      const std::int64_t cost = problem_.unseen_cost_min[rider];
      if (cost != AssignmentProblem::knows_all)
        unseen_arcs_.emplace_back(rider,
                                  add_arc(riders_[rider], unseen_, cost * scale_ + charge, 1));
    }
    if (unseen_arcs_.empty()) return;
    for (const Graph::Node driver : drivers_) add_arc(unseen_, driver, 0, 1);
    if (problem_.unseen_drivers > 0) add_arc(unseen_, sink_, 0, problem_.unseen_drivers);
  }

  Graph::Arc add_arc(Graph::Node from, Graph::Node to, std::int64_t cost, std::int64_t capacity) {
    const Graph::Arc arc = graph_.addArc(from, to);
    costs_[arc] = cost;
    capacities_[arc] = capacity;
    return arc;
  }

  // Complementary slackness, arc by arc: what the solver says is proven, not believed.
  void check_optimal(const Simplex& simplex) const {
    for (Graph::ArcIt arc(graph_); arc != lemon::INVALID; ++arc) {
      const std::int64_t reduced = costs_[arc] + simplex.potential(graph_.source(arc)) -
                                   simplex.potential(graph_.target(arc));
      const std::int64_t flow = simplex.flow(arc);
      check_invariant((reduced >= 0 || flow == capacities_[arc]) && (reduced <= 0 || flow == 0),
                      "the solver's assignment is the least");
    }
  }

  const AssignmentProblem& problem_;
  const bool with_unseen_;
  Graph graph_;
  Graph::ArcMap<std::int64_t> costs_;
  Graph::ArcMap<std::int64_t> capacities_;
  Graph::NodeMap<std::int64_t> supplies_;
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
