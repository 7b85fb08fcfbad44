// SPDX-License-Identifier: Apache-2.0
// Compares BucketScatter with a stable sort, for any number of threads.
#include "starling/cpu/points/index/bucket_scatter.hpp"

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling::cpu {
namespace {

constexpr std::uint32_t buckets = 37;

/// The bucket of a point is its x.
std::vector<LatticePoint> random_points(std::size_t count, test::Random& random) {
  std::vector<LatticePoint> points(count);
  for (LatticePoint& point : points) {
    point.x = static_cast<std::int32_t>(random.chance(0.3) ? 5 : random.below(buckets));
    if (random.chance(0.1)) point.x = nowhere;
  }
  return points;
}

TEST(BucketScatter, PutsThePointsOfABucketInTheirOrderForAnyNumberOfThreads) {
  for (const std::uint64_t seed : test::seeds(3)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    for (const std::size_t count : {0u, 1u, 511u, 512u, 513u, 5'000u}) {
      const std::vector<LatticePoint> positions = random_points(count, random);
      std::vector<Slot> expected;
      for (Slot slot = 0; slot < count; ++slot)
        if (positions[slot].x != nowhere) expected.push_back(slot);
      std::ranges::stable_sort(expected, {}, [&](Slot slot) { return positions[slot].x; });
      for (const unsigned threads : {1u, 2u, 4u, 5u, 9u}) {
        SCOPED_TRACE(std::to_string(count) + " points, " + std::to_string(threads) + " threads");
        ThreadPool pool(threads);
        BucketScatter scatter;
        std::vector<Slot> put(expected.size(), no_slot);
        scatter.run(
            {.positions = positions, .slots = {}, .count = expected.size(), .box = {}}, buckets,
            [](std::span<const LatticePoint> points, std::span<std::uint32_t> found) {
              for (std::size_t i = 0; i < points.size(); ++i)
                found[i] =
                    points[i].x == nowhere ? buckets : static_cast<std::uint32_t>(points[i].x);
            },
            [&](std::uint32_t place, const LatticePoint& point, Slot slot) {
              EXPECT_EQ(point.x, positions[slot].x);
              put.at(place) = slot;
            },
            pool);
        EXPECT_EQ(put, expected);
        ASSERT_EQ(scatter.bucket_count(), buckets);
        for (std::uint32_t bucket = 0; bucket < buckets; ++bucket)
          for (std::uint32_t i = 0; i < scatter.size(bucket); ++i)
            EXPECT_EQ(positions[expected[scatter.begin(bucket) + i]].x,
                      static_cast<std::int32_t>(bucket));
      }
    }
  }
}

}  // namespace
}  // namespace starling::cpu
