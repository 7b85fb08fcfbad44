// Minimum-cost assignment of drivers to riders over lists that may have been cut short, and the
// certainty whether longer lists could have made it better.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace starling::sim::city {

inline constexpr std::uint32_t unassigned = ~std::uint32_t{0};

/// That this rider can be served by this driver, at this cost, which is not negative.
struct AssignmentArc {
  std::uint32_t rider = 0;   ///< below AssignmentProblem::riders
  std::uint32_t driver = 0;  ///< below AssignmentProblem::drivers
  std::int64_t cost = 0;
};

struct AssignmentProblem {
  static constexpr std::int64_t knows_all = std::numeric_limits<std::int64_t>::max();

  std::uint32_t riders = 0;
  std::uint32_t drivers = 0;            ///< that some list shows
  std::span<const AssignmentArc> arcs;  ///< of each rider, the preferred before the others
  /// By rider: a driver not among the rider's arcs costs at least this; knows_all: there is none.
  std::span<const std::int64_t> unseen_cost_min;
  std::uint32_t unseen_drivers = 0;  ///< how many there are that no list shows
};

struct Assignment {
  std::vector<std::uint32_t> driver_of;  ///< by rider; or unassigned
  std::uint32_t assigned = 0;
  std::int64_t cost = 0;
  /// Riders whose longer lists might make it better; empty: it is the optimum over all drivers.
  std::vector<std::uint32_t> uncertain;
};

/// As many riders as possible, then the least sum of costs, and of equal ones the one in which the
/// first rider's arc comes earliest among its own, then the second's, and so on: there is one such.
/// Two steps:
///
/// First the optimum of a problem that flatters the unseen: each rider may also have any driver
/// that its list does not show at unseen_cost_min, which no such driver undercuts. If that optimum
/// makes no use of it, nothing unseen can be better, and it is the optimum over all drivers; else
/// those who use it are the uncertain ones. Among equals an unseen driver comes behind those that
/// the list shows; so with lists that grow at their ends alone, all lists that are long enough lead
/// to the same assignment. No condition on lists could be sharper: drivers may
/// really stand where the flattering has them. Only then, and with `wants_best` only, the second
/// step: the optimum of what the lists show.
Assignment assign(const AssignmentProblem& problem, bool wants_best);

}  // namespace starling::sim::city
