// SPDX-License-Identifier: Apache-2.0
// Compares the assignment over truncated lists with the optimum over all pairs of riders and
// drivers. A separate Hungarian algorithm finds this optimum.
#include "starling/sim/city/assignment.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling::sim::city {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;

struct Optimum {
  std::uint32_t assigned = 0;
  std::int64_t cost = 0;
  bool operator==(const Optimum&) const = default;
};

constexpr std::int64_t impossible = -1;

/// Finds the optimum with the Hungarian method with potentials (Munkres 1957). The matrix has a row
/// for each of n riders, and m >= n columns: one for each driver and, for each rider, one that
/// means "no driver". "No driver" costs more than any driver, so as many riders as possible get a
/// driver.
Optimum hungarian(const Matrix& costs, std::size_t drivers) {
  const std::size_t n = costs.size();
  const std::size_t m = drivers + n;
  constexpr std::int64_t nobody = std::int64_t{1} << 40;
  constexpr std::int64_t never = std::int64_t{1} << 50;
  const auto cost = [&](std::size_t rider, std::size_t column) {
    if (column >= drivers) return nobody;
    return costs[rider][column] == impossible ? never : costs[rider][column];
  };
  std::vector<std::int64_t> u(n + 1), v(m + 1);
  std::vector<std::size_t> match(m + 1), way(m + 1);
  for (std::size_t i = 1; i <= n; ++i) {
    match[0] = i;
    std::size_t column = 0;
    std::vector<std::int64_t> least(m + 1, std::numeric_limits<std::int64_t>::max());
    std::vector<bool> used(m + 1);
    do {
      used[column] = true;
      const std::size_t row = match[column];
      std::int64_t delta = std::numeric_limits<std::int64_t>::max();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= m; ++j) {
        if (used[j]) continue;
        const std::int64_t reduced = cost(row - 1, j - 1) - u[row] - v[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          way[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= m; ++j) {
        if (used[j]) {
          u[match[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (match[column] != 0);
    do {
      const std::size_t before = way[column];
      match[column] = match[before];
      column = before;
    } while (column != 0);
  }
  Optimum optimum;
  for (std::size_t j = 1; j <= drivers; ++j) {
    if (match[j] == 0) continue;
    ++optimum.assigned;
    optimum.cost += costs[match[j] - 1][j - 1];
  }
  return optimum;
}

/// Finds the optimum by trying every assignment. The test of the Hungarian method compares with it.
Optimum try_all(const Matrix& costs, std::size_t rider, std::vector<bool>& taken) {
  if (rider == costs.size()) return {};
  Optimum best = try_all(costs, rider + 1, taken);
  for (std::size_t driver = 0; driver < taken.size(); ++driver) {
    if (taken[driver] || costs[rider][driver] == impossible) continue;
    taken[driver] = true;
    Optimum rest = try_all(costs, rider + 1, taken);
    taken[driver] = false;
    rest.cost += costs[rider][driver];
    ++rest.assigned;
    if (rest.assigned > best.assigned || (rest.assigned == best.assigned && rest.cost < best.cost))
      best = rest;
  }
  return best;
}

/// One number for each rider. For a rider with a driver: how many drivers stand before this driver
/// in the rider's full list, which is sorted by cost and then by number. For a rider without a
/// driver: the number of all drivers.
using Preference = std::vector<std::size_t>;

Preference preference_of(const Matrix& costs, const std::vector<std::size_t>& driver_of) {
  Preference preference;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::size_t own = driver_of[i];
    std::size_t before = 0;
    for (std::size_t j = 0; j < costs[i].size(); ++j)
      if (own == unassigned ||
          (costs[i][j] != impossible && std::pair{costs[i][j], j} < std::pair{costs[i][own], own}))
        ++before;
    preference.push_back(before);
  }
  return preference;
}

/// Tries all optimal assignments. Stores the lexicographically least preference among them in
/// `least`, and adds their number to `count`.
void try_optima(const Matrix& costs, const Optimum& optimum, std::vector<std::size_t>& driver_of,
                std::vector<bool>& taken, Optimum sum, Preference& least, std::size_t& count) {
  const std::size_t rider = driver_of.size();
  if (rider == costs.size()) {
    if (sum != optimum) return;
    const Preference preference = preference_of(costs, driver_of);
    if (count++ == 0 || preference < least) least = preference;
    return;
  }
  driver_of.push_back(unassigned);
  try_optima(costs, optimum, driver_of, taken, sum, least, count);
  for (std::size_t driver = 0; driver < taken.size(); ++driver) {
    if (taken[driver] || costs[rider][driver] == impossible) continue;
    taken[driver] = true;
    driver_of.back() = driver;
    try_optima(costs, optimum, driver_of, taken,
               {sum.assigned + 1, sum.cost + costs[rider][driver]}, least, count);
    taken[driver] = false;
  }
  driver_of.pop_back();
}

/// Returns the costs between random riders and random drivers on a grid. In some matrices there are
/// only few different places, so equal costs are frequent.
Matrix random_costs(test::Random& random, std::size_t riders, std::size_t drivers) {
  const std::uint64_t places = random.chance(0.3) ? 6 : 1000;
  const bool is_sparse = random.chance(0.3);
  const auto place = [&] { return static_cast<std::int64_t>(random.below(places)); };
  std::vector<std::pair<std::int64_t, std::int64_t>> at;
  for (std::size_t i = 0; i < riders + drivers; ++i) at.emplace_back(place(), place());
  Matrix costs(riders, std::vector<std::int64_t>(drivers));
  for (std::size_t i = 0; i < riders; ++i)
    for (std::size_t j = 0; j < drivers; ++j) {
      const auto& [x, y] = at[i];
      const auto& [driver_x, driver_y] = at[riders + j];
      costs[i][j] = std::abs(x - driver_x) + std::abs(y - driver_y);
      if (is_sparse && costs[i][j] > static_cast<std::int64_t>(places) / 2)
        costs[i][j] = impossible;
    }
  return costs;
}

/// Holds the part of the cost matrix that is known when the list of each rider i has only the k[i]
/// nearest drivers.
struct Lists {
  Lists(const Matrix& costs, std::size_t driver_count, std::span<const std::size_t> k) {
    std::vector<std::uint32_t> node_of(driver_count, unassigned);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      std::vector<std::pair<std::int64_t, std::size_t>> near;
      for (std::size_t j = 0; j < driver_count; ++j)
        if (costs[i][j] != impossible) near.emplace_back(costs[i][j], j);
      std::ranges::sort(near);
      near.resize(std::min(near.size(), k[i]));
      for (const auto& [cost, driver] : near) {
        if (node_of[driver] == unassigned) {
          node_of[driver] = drivers++;
          driver_at.push_back(driver);
        }
        arcs.push_back({static_cast<std::uint32_t>(i), node_of[driver], cost});
      }
      unseen_cost_min.push_back(near.size() == k[i] ? near.back().first
                                                    : AssignmentProblem::knows_all);
    }
    unseen = static_cast<std::uint32_t>(driver_count) - drivers;
  }

  AssignmentProblem problem() const {
    return {static_cast<std::uint32_t>(unseen_cost_min.size()), drivers, arcs, unseen_cost_min,
            unseen};
  }

  std::vector<std::size_t> drivers_of(const Assignment& assignment) const {
    std::vector<std::size_t> drivers_of;
    for (const std::uint32_t node : assignment.driver_of)
      drivers_of.push_back(node == unassigned ? unassigned : driver_at[node]);
    return drivers_of;
  }

  std::vector<AssignmentArc> arcs;
  std::vector<std::int64_t> unseen_cost_min;
  std::vector<std::size_t> driver_at;  ///< [node]: the number of its driver
  std::uint32_t drivers = 0;
  std::uint32_t unseen = 0;
};

void expect_one_to_one(const AssignmentProblem& problem, const Assignment& assignment) {
  std::vector<std::uint32_t> riders_of(problem.drivers);
  std::uint32_t assigned = 0;
  for (const std::uint32_t driver : assignment.driver_of) {
    if (driver == unassigned) continue;
    ++assigned;
    EXPECT_EQ(++riders_of.at(driver), 1u) << "a driver with two riders";
  }
  EXPECT_EQ(assigned, assignment.assigned);
}

TEST(Hungarian, FindsWhatTryingAllFinds) {
  for (const std::uint64_t seed : test::seeds(60)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const std::size_t drivers = 1 + random.below(6);
    const Matrix costs = random_costs(random, 1 + random.below(6), drivers);
    std::vector<bool> taken(drivers);
    EXPECT_EQ(hungarian(costs, drivers), try_all(costs, 0, taken));
  }
}

// All lists have the same k, which grows from 1. Whenever the assignment is certain, it is the
// optimum over all pairs. It is always certain when the lists hold all drivers.
TEST(Assignment, IsTheOptimumOfAllPairsWheneverItIsSure) {
  std::size_t sure_before_all = 0;
  for (const std::uint64_t seed : test::seeds(300)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const std::size_t riders = 1 + random.below(24);
    const std::size_t drivers = 1 + random.below(32);
    const Matrix costs = random_costs(random, riders, drivers);
    const Optimum optimum = hungarian(costs, drivers);
    for (std::size_t k = 1; k <= drivers + 1; ++k) {
      const Lists lists(costs, drivers, std::vector(riders, k));
      const Assignment assignment = assign(lists.problem(), true);
      expect_one_to_one(lists.problem(), assignment);
      if (assignment.uncertain.empty()) {
        EXPECT_EQ((Optimum{assignment.assigned, assignment.cost}), optimum) << "k " << k;
        if (k < drivers) ++sure_before_all;
      } else {
        EXPECT_LE(assignment.assigned, optimum.assigned);
      }
      if (k > drivers) {
        EXPECT_TRUE(assignment.uncertain.empty());
      }
    }
  }
  EXPECT_GT(sure_before_all, 1000u) << "the bound is too weak to be useful";
}

// Widens only the lists of uncertain riders, as the simulation does.
TEST(Assignment, BecomesTheOptimumByWideningTheListsItDoubts) {
  for (const std::uint64_t seed : test::seeds(300)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const std::size_t riders = 1 + random.below(24);
    const std::size_t drivers = 1 + random.below(32);
    const Matrix costs = random_costs(random, riders, drivers);
    std::vector<std::size_t> k(riders, 1 + random.below(3));
    Assignment assignment;
    for (int rounds = 0;; ++rounds) {
      ASSERT_LT(rounds, 200);
      const Lists lists(costs, drivers, k);
      assignment = assign(lists.problem(), false);
      if (assignment.uncertain.empty()) break;
      for (const std::uint32_t rider : assignment.uncertain) k[rider] *= 2;
    }
    EXPECT_EQ((Optimum{assignment.assigned, assignment.cost}), hungarian(costs, drivers));
  }
}

// There are few different costs, so that many assignments have the least sum. Whenever the
// assignment for a k is certain, it is the one with the least preference.
TEST(Assignment, AmongEqualSumsIsTheOneThatTheRidersPreferInTheirOrder) {
  std::size_t ties = 0;
  std::size_t sure_before_all = 0;
  for (const std::uint64_t seed : test::seeds(300)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const std::size_t riders = 1 + random.below(5);
    const std::size_t drivers = 1 + random.below(6);
    const std::uint64_t most = 1 + random.below(4);
    Matrix costs(riders, std::vector<std::int64_t>(drivers));
    for (auto& row : costs)
      for (std::int64_t& cost : row)
        cost = random.chance(0.1) ? impossible : static_cast<std::int64_t>(random.below(most));
    Preference least;
    std::vector<std::size_t> driver_of;
    std::vector<bool> taken(drivers);
    std::size_t count = 0;
    try_optima(costs, hungarian(costs, drivers), driver_of, taken, {}, least, count);
    if (count > 1) ++ties;
    for (std::size_t k = 1; k <= drivers + 1; ++k) {
      const Lists lists(costs, drivers, std::vector(riders, k));
      const Assignment assignment = assign(lists.problem(), false);
      if (!assignment.uncertain.empty()) continue;
      EXPECT_EQ(preference_of(costs, lists.drivers_of(assignment)), least) << "k " << k;
      if (k < drivers) ++sure_before_all;
    }
  }
  EXPECT_GT(ties, 150u);
  EXPECT_GT(sure_before_all, 150u) << "it is uncertain too often";
}

// The sizes are realistic, and too large to try all assignments. At first the lists are short. Then
// the lists of uncertain riders are widened. In the end, the assignment must be the same as with
// lists of all drivers.
TEST(Assignment, AmongEqualSumsIsTheSameWhateverListsBeginWith) {
  for (const std::uint64_t seed : test::seeds(100)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const std::size_t riders = 1 + random.below(60);
    const std::size_t drivers = 1 + random.below(60);
    const std::uint64_t most = 1 + random.below(8);
    Matrix costs(riders, std::vector<std::int64_t>(drivers));
    for (auto& row : costs)
      for (std::int64_t& cost : row)
        cost = random.chance(0.3) ? impossible : static_cast<std::int64_t>(random.below(most));
    const Lists everyone(costs, drivers, std::vector(riders, drivers + 1));
    const Assignment all = assign(everyone.problem(), true);
    for (const std::size_t first : {1u, 2u, 7u}) {
      std::vector<std::size_t> k(riders, first);
      for (int rounds = 0;; ++rounds) {
        ASSERT_LT(rounds, 1000);
        const Lists lists(costs, drivers, k);
        const Assignment assignment = assign(lists.problem(), false);
        if (assignment.uncertain.empty()) {
          EXPECT_EQ(lists.drivers_of(assignment), everyone.drivers_of(all));
          break;
        }
        for (const std::uint32_t rider : assignment.uncertain) k[rider] *= 2;
      }
    }
  }
}

TEST(Assignment, DoesNotDoubtWhereEveryoneHasTheirOwnNearest) {
  const Matrix costs{{1, 50, 60}, {50, 1, 60}, {60, 50, 1}};
  const Lists lists(costs, 3, std::vector<std::size_t>(3, 1));
  EXPECT_TRUE(assign(lists.problem(), true).uncertain.empty());
}

TEST(Assignment, DoubtsWhereTwoWantTheSameAndSeeNobodyElse) {
  const Matrix costs{{1, 5}, {2, 5}};
  const Lists lists(costs, 2, std::vector<std::size_t>(2, 1));
  EXPECT_FALSE(assign(lists.problem(), true).uncertain.empty());
}

TEST(Assignment, OfNobodyIsEmpty) {
  EXPECT_TRUE(assign({}, true).driver_of.empty());
}

}  // namespace
}  // namespace starling::sim::city
