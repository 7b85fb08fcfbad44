// SPDX-License-Identifier: Apache-2.0
// Minimum-cost assignment of drivers to riders over candidate lists that may be truncated. Also
// tells whether longer lists could give a better assignment. The batch policies use it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace starling::sim::city {

inline constexpr std::uint32_t unassigned = ~std::uint32_t{0};

/// The rider can be served by the driver at this cost, which is not negative.
struct AssignmentArc {
  std::uint32_t rider = 0;   ///< below AssignmentProblem::riders
  std::uint32_t driver = 0;  ///< below AssignmentProblem::drivers
  std::int64_t cost = 0;
};

struct AssignmentProblem {
  static constexpr std::int64_t knows_all = std::numeric_limits<std::int64_t>::max();

  std::uint32_t riders = 0;
  std::uint32_t drivers = 0;            ///< number of drivers that appear in at least one list
  std::span<const AssignmentArc> arcs;  ///< each rider's preferred arcs come first
  /// By rider: a lower bound of the cost of the drivers that the rider's list does not show;
  /// knows_all if there is no such driver.
  std::span<const std::int64_t> unseen_cost_min;
  std::uint32_t unseen_drivers = 0;  ///< number of drivers that appear in no list
};

struct Assignment {
  std::vector<std::uint32_t> driver_of;  ///< by rider; or `unassigned`
  std::uint32_t assigned = 0;
  std::int64_t cost = 0;
  /// Riders whose lists must grow to make the assignment certain. Empty: the assignment is the
  /// optimum over all drivers.
  std::vector<std::uint32_t> uncertain;
};

/// Assigns as many riders as possible, then minimises the sum of costs. Among equal sums it takes
/// the assignment in which the first rider's arc comes earliest among the rider's arcs, then the
/// second rider's, and so on; that assignment is unique.
///
/// Step 1 solves a relaxed problem: each rider may also take a driver that its list does not show,
/// at the lower bound unseen_cost_min. If the optimum takes no such driver, longer lists cannot
/// improve it, so it is the optimum over all drivers. Otherwise the riders that take one are
/// `uncertain`. Among equal costs a listed driver comes before an unseen one. Lists that only grow
/// at their ends therefore all lead to the same assignment once they are long enough. No test on
/// the lists alone can be sharper, because drivers may really be where the relaxation puts them.
///
/// Step 2 runs only if step 1 is uncertain and `wants_best` is set. It finds the optimum among the
/// listed drivers.
Assignment assign(const AssignmentProblem& problem, bool wants_best);

}  // namespace starling::sim::city
