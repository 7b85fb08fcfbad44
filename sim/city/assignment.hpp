// SPDX-License-Identifier: Apache-2.0
// Assigns drivers to riders at minimum cost. Each rider has a list of candidate drivers, which may
// be truncated. assign() also reports whether longer lists could give a better assignment. The
// batch policies call assign().
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace starling::sim::city {

inline constexpr std::uint32_t unassigned = ~std::uint32_t{0};

/// `driver` can serve `rider` at `cost`, which is not negative.
struct AssignmentArc {
  std::uint32_t rider = 0;   ///< index below AssignmentProblem::riders
  std::uint32_t driver = 0;  ///< index below AssignmentProblem::drivers
  std::int64_t cost = 0;
};

struct AssignmentProblem {
  static constexpr std::int64_t knows_all = std::numeric_limits<std::int64_t>::max();

  std::uint32_t riders = 0;
  std::uint32_t drivers = 0;            ///< number of drivers that appear in at least one list
  std::span<const AssignmentArc> arcs;  ///< a rider's earlier arc wins at equal cost
  /// One number for each rider. Every driver outside the rider's list costs at least this number.
  /// The number is knows_all if the list has every driver that the rider can get.
  std::span<const std::int64_t> unseen_cost_min;
  std::uint32_t unseen_drivers = 0;  ///< number of drivers that appear in no list
};

struct Assignment {
  std::vector<std::uint32_t> driver_of;  ///< each rider's driver, or `unassigned`
  std::uint32_t assigned = 0;
  std::int64_t cost = 0;
  /// Riders whose lists must grow to make the assignment certain. If `uncertain` is empty, the
  /// assignment is the optimum over all drivers.
  std::vector<std::uint32_t> uncertain;
};

/// Assigns as many riders as possible, then minimises the sum of costs. Among assignments with the
/// same sum, assign() takes the one in which the first rider's arc comes earliest in that rider's
/// arcs, then the second rider's, and so on. This choice is unique.
///
/// Step 1 solves a relaxed problem: each rider may also take an unseen driver, which is not in the
/// rider's list, at the lower bound unseen_cost_min. If the relaxed optimum takes no unseen driver,
/// longer lists cannot improve the assignment: the assignment is the optimum over all drivers.
/// Otherwise the riders that take unseen drivers are `uncertain`. At equal cost a listed driver is
/// preferred to an unseen driver. Therefore, once the lists are long enough, drivers appended to
/// them do not change the assignment. No test of the lists alone can be certain more often, because
/// an unseen driver may cost exactly the lower bound.
///
/// Step 2 finds the optimum among the listed drivers. Step 2 runs only if step 1 leaves riders
/// `uncertain` and `wants_best` is set.
Assignment assign(const AssignmentProblem& problem, bool wants_best);

}  // namespace starling::sim::city
