// SPDX-License-Identifier: Apache-2.0
// The batch policies decide for all waiting riders at once, by straight distance or by pick-up
// time: see dispatch_policy.hpp.
#include <algorithm>
#include <cmath>
#include <utility>

#include "starling/sim/city/assignment.hpp"
#include "starling/sim/city/dispatch_policy.hpp"

namespace starling::sim::city {
namespace {

class BatchPolicy : public DispatchPolicy {
 public:
  std::string_view name() const override { return "batch"; }

  DispatchDecision decide(const DispatchInput& input) override {
    arcs_.clear();
    distances_m_.clear();
    unseen_cost_min_.clear();
    driver_at_.clear();
    node_of_.resize(input.drivers, unassigned);
    for (std::uint32_t i = 0; i < input.riders.size(); ++i) add_rider(i, input.riders[i]);
    DispatchDecision decision = solve(input);
    for (const DriverIndex driver : driver_at_) node_of_[driver] = unassigned;
    return decision;
  }

 protected:
  /// Fills `costs` with the cost of each candidate: its distance in millimetres here, its pick-up
  /// time in milliseconds in BatchTimePolicy.
  virtual void find_costs(RideIndex /*ride*/, std::span<const Candidate> list,
                          std::span<std::int64_t> costs) {
    for (std::size_t i = 0; i < list.size(); ++i) costs[i] = std::llround(list[i].distance_m * 1e3);
  }
  /// Returns a lower bound of the cost of drivers that are at least `distance_m` away.
  virtual std::int64_t cost_min(double distance_m) const { return std::llround(distance_m * 1e3); }

 private:
  void add_rider(std::uint32_t index, const WaitingRider& rider) {
    costs_.resize(rider.list.size());
    find_costs(rider.ride, rider.list, costs_);
    for (std::size_t i = 0; i < rider.list.size(); ++i) {
      const Candidate& candidate = rider.list[i];
      std::uint32_t& node = node_of_[candidate.driver];
      if (node == unassigned) {
        node = static_cast<std::uint32_t>(driver_at_.size());
        driver_at_.push_back(candidate.driver);
      }
      if (std::ranges::find(rider.declined_by, candidate.driver) != rider.declined_by.end())
        continue;
      arcs_.push_back({index, node, costs_[i]});
      distances_m_.push_back(candidate.distance_m);
    }
    unseen_cost_min_.push_back(rider.may_have_more ? cost_min(rider.list.back().distance_m)
                                                   : AssignmentProblem::knows_all);
  }

  DispatchDecision solve(const DispatchInput& input) {
    const auto drivers = static_cast<std::uint32_t>(driver_at_.size());
    const AssignmentProblem problem{.riders = static_cast<std::uint32_t>(input.riders.size()),
                                    .drivers = drivers,
                                    .arcs = arcs_,
                                    .unseen_cost_min = unseen_cost_min_,
                                    .unseen_drivers = input.free_drivers - drivers};
    DispatchDecision decision;
    Assignment assignment = assign(problem, false);
    const auto can_widen = [&](std::uint32_t rider) { return input.riders[rider].can_widen; };
    if (!assignment.uncertain.empty() && std::ranges::none_of(assignment.uncertain, can_widen))
      assignment = assign(problem, true);
    decision.uncertain = std::move(assignment.uncertain);
    for (std::size_t i = 0; i < arcs_.size(); ++i) {
      const AssignmentArc& arc = arcs_[i];
      if (assignment.driver_of[arc.rider] == arc.driver)
        decision.offers.push_back(
            {input.riders[arc.rider].ride, driver_at_[arc.driver], distances_m_[i]});
    }
    return decision;
  }

  std::vector<AssignmentArc> arcs_;
  std::vector<double> distances_m_;  ///< one per arc
  std::vector<std::int64_t> unseen_cost_min_;
  std::vector<DriverIndex> driver_at_;  ///< [node]: the fleet's index of the driver with
                                        ///< AssignmentArc::driver == node
  std::vector<std::uint32_t> node_of_;  ///< [driver]: its node, or `unassigned`
  std::vector<std::int64_t> costs_;
};

class BatchTimePolicy : public BatchPolicy {
 public:
  BatchTimePolicy(PickupTimes pickup_times, double speed_max_mps)
      : pickup_times_(std::move(pickup_times)), speed_max_mps_(speed_max_mps) {}

  std::string_view name() const override { return "batch-time"; }

 protected:
  void find_costs(RideIndex ride, std::span<const Candidate> list,
                  std::span<std::int64_t> costs) override {
    pickup_times_(ride, list, costs);
    for (std::int64_t& cost : costs) cost /= us_per_ms;
  }
  // A list has the distance between two lattice points. Each lattice point may be up to 1 cm away
  // from the real position, so 2 cm are subtracted from the distance. 1 ms is subtracted from the
  // time because of rounding.
  std::int64_t cost_min(double distance_m) const override {
    return std::max<std::int64_t>(
        static_cast<std::int64_t>((distance_m - 0.02) / speed_max_mps_ * 1e3) - 1, 0);
  }

 private:
  static constexpr std::int64_t us_per_ms = 1000;

  PickupTimes pickup_times_;
  double speed_max_mps_;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_batch_policy() {
  return std::make_unique<BatchPolicy>();
}

std::unique_ptr<DispatchPolicy> make_batch_time_policy(PickupTimes pickup_times,
                                                       double speed_max_mps) {
  return std::make_unique<BatchTimePolicy>(std::move(pickup_times), speed_max_mps);
}

}  // namespace starling::sim::city
