// SPDX-License-Identifier: Apache-2.0
// Passes distances that the C interface reported back to it as limits. Each limit keeps its
// neighbour, and the float64 below the limit does not.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <starling.h>

#include "tests/c/c_world.hpp"
#include "tests/support/limit_pairs.hpp"
#include "tests/support/random.hpp"

namespace starling::test {
namespace {

constexpr std::uint32_t list_length = 10;

using CPosition = std::array<double, 3>;

/// Returns a position on the ellipsoid or on a lattice. On a lattice, the extent is random: from
/// one unit to the whole lattice.
CPosition random_position(starling_space space, double resolution_m, Random& random) {
  const auto signed_unit = [&] { return 2 * random.unit() - 1; };
  if (space == STARLING_WGS84) return {180 * signed_unit(), 90 * signed_unit(), 0};
  const double extent_m = std::exp2(29.9 * random.unit()) * resolution_m;
  return {extent_m * signed_unit(), extent_m * signed_unit(),
          space == STARLING_PLANAR3 ? extent_m * signed_unit() : 0};
}

starling_engine* engine_with_objects(starling_space space, double resolution_m, Random& random) {
  starling_engine_options options{};
  EXPECT_EQ(starling_engine_options_init(&options, sizeof(options)), STARLING_OK);
  options.backend = STARLING_BACKEND_CPU;
  options.threads = 2;
  options.space = space;
  options.resolution_m = resolution_m;
  starling_engine* engine = nullptr;
  EXPECT_EQ(starling_engine_create(&options, &engine), STARLING_OK) << last_error().sentence;
  std::vector<std::uint64_t> ids;
  std::vector<double> coordinates;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    ids.push_back(id);
    for (const double component : random_position(space, resolution_m, random))
      coordinates.push_back(component);
    if (space == STARLING_PLANAR2) coordinates.pop_back();
  }
  starling_rows rows{};
  rows.size = sizeof(rows);
  rows.count = ids.size();
  rows.ids = ids.data();
  rows.coordinates = coordinates.data();
  rows.components = space == STARLING_PLANAR2 ? 2 : 3;
  starling_counts counts{.size = sizeof(counts), .accepted = 0, .late = 0, .rejected = 0};
  EXPECT_EQ(starling_engine_update(engine, &rows, INT64_MAX, nullptr, &counts), STARLING_OK);
  EXPECT_EQ(counts.accepted, ids.size());
  starling_result* result = nullptr;
  EXPECT_EQ(starling_engine_tick(engine, 0, &result), STARLING_OK) << last_error().sentence;
  starling_result_destroy(result);
  return engine;
}

std::vector<std::vector<CNeighbor>> ask(starling_engine* engine,
                                        const std::vector<starling_query>& questions) {
  starling_result* result = nullptr;
  EXPECT_EQ(starling_engine_neighbors(engine, questions.data(), questions.size(), &result),
            STARLING_OK)
      << last_error().sentence;
  starling_lists lists{};
  lists.size = sizeof(lists);
  EXPECT_EQ(starling_result_lists(result, 0, &lists), STARLING_OK);
  std::vector<std::vector<CNeighbor>> answers(questions.size());
  for (std::uint64_t i = 0; i < lists.list_count; ++i)
    for (std::uint64_t entry = lists.offsets[i]; entry < lists.offsets[i + 1]; ++entry)
      answers[lists.query_ids[i]].push_back({lists.object_ids[entry], lists.distances[entry]});
  starling_result_destroy(result);
  return answers;
}

void expect_limits_keep_their_neighbours(starling_engine* engine, starling_space space,
                                         double resolution_m, std::uint64_t pairs_wanted,
                                         Random& random) {
  std::uint64_t pairs = 0;
  while (pairs < pairs_wanted) {
    std::vector<starling_query> places;
    for (int i = 0; i < 100; ++i) {
      const CPosition position = random_position(space, resolution_m, random);
      places.push_back(query_at(0, list_length, {}));
      std::memcpy(places.back().position, position.data(), sizeof(position));
    }
    const auto reported = ask(engine, places);
    std::vector<starling_query> limited;
    std::vector<std::vector<CNeighbor>> expected;
    for (std::size_t i = 0; i < places.size(); ++i)
      for (const CNeighbor& neighbor : reported[i])
        for (const double limit_m : {neighbor.distance_m, std::nextafter(neighbor.distance_m, 0)}) {
          limited.push_back(places[i]);
          limited.back().distance_max = limit_m;
          expected.push_back(reported[i]);
          std::erase_if(expected.back(),
                        [&](const CNeighbor& each) { return each.distance_m > limit_m; });
        }
    const auto kept = ask(engine, limited);
    for (std::size_t i = 0; i < limited.size(); ++i)
      ASSERT_EQ(kept[i], expected[i]) << "limit " << limited[i].distance_max;
    pairs += limited.size() / 2;
  }
}

TEST(CDistanceLimits, KeepTheNeighbourThatWasReportedAtThem) {
  for (const std::uint64_t seed : seeds(1)) {
    SCOPED_TRACE(replay_hint(seed));
    Random random(seed);
    for (const auto& [space, resolution_m] :
         std::vector<std::pair<starling_space, double>>{{STARLING_PLANAR2, 0.01},
                                                        {STARLING_PLANAR2, 0.3},
                                                        {STARLING_PLANAR3, 0.001},
                                                        {STARLING_WGS84, 0.01}}) {
      SCOPED_TRACE("space " + std::to_string(space) + ", " + std::to_string(resolution_m) + " m");
      starling_engine* const engine = engine_with_objects(space, resolution_m, random);
      expect_limits_keep_their_neighbours(engine, space, resolution_m, limit_pairs(100'000),
                                          random);
      starling_engine_destroy(engine);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace starling::test
