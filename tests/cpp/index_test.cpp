// SPDX-License-Identifier: Apache-2.0
// Tests knn and Index of starling.hpp against a plain search that sorts all points.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "starling/starling.hpp"
#include "tests/cpp/refusal.hpp"
#include "tests/support/random.hpp"

namespace starling::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Point = std::array<float, 3>;
using List = std::vector<std::pair<std::uint32_t, double>>;

constexpr IndexOptions on_one_thread{.backend = Backend::cpu, .threads = 1};

/// Returns points with small integer components, so that squared distances are exact and many are
/// equal.
std::vector<Point> points_of(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<Point> points(count);
  for (Point& point : points)
    for (float& component : point) component = static_cast<float>(random.between(-9, 9));
  return points;
}

/// Returns the k nearest points, by exact squares and then by row, without the row `own`.
List nearest(const std::vector<Point>& points, const Point& to, std::size_t k,
             std::size_t own = std::numeric_limits<std::size_t>::max()) {
  std::vector<std::tuple<double, std::uint32_t>> all;
  for (std::size_t row = 0; row < points.size(); ++row) {
    double square = 0;
    for (std::size_t i = 0; i < to.size(); ++i)
      square += std::pow(double{points[row][i]} - double{to[i]}, 2);
    if (row != own) all.emplace_back(square, static_cast<std::uint32_t>(row));
  }
  std::ranges::sort(all);
  all.resize(std::min(k, all.size()));
  List list;
  for (const auto& [square, row] : all) list.emplace_back(row, std::sqrt(square));
  return list;
}

List list_of(const NeighborList<std::uint32_t>& found) {
  List list;
  for (const auto& [row, distance] : found) list.emplace_back(row, distance);
  return list;
}

TEST(CppIndex, FindsTheNearestPointsOfEachQuery) {
  const std::vector<Point> queries = points_of(2, 7);
  for (const std::size_t count : {1U, 4U, 5U, 6U, 33U, 500U}) {
    const std::vector<Point> points = points_of(1, count);
    const NearestRows found = knn(points, queries, 5, on_one_thread);
    ASSERT_EQ(found.size(), queries.size());
    EXPECT_EQ(found.k(), 5u);
    for (std::size_t i = 0; i < queries.size(); ++i)
      EXPECT_EQ(list_of(found[i]), nearest(points, queries[i], 5)) << count << " points";
  }
}

TEST(CppIndex, GivesFlatArraysToo) {
  const std::vector<Point> points = points_of(3, 4);
  const NearestRows found = knn(points, points, 6, on_one_thread);
  ASSERT_EQ(found.rows().size(), 24u);
  ASSERT_EQ(found.distances().size(), 24u);
  EXPECT_EQ(found[1].ids.data(), found.rows().data() + 6);
  EXPECT_EQ(found[1].size(), 4u);
  EXPECT_EQ(found.rows()[4], STARLING_NO_ROW);
  EXPECT_TRUE(std::isnan(found.distances()[4]));
}

TEST(CppIndex, FindsOtherPointsOfEachPoint) {
  const std::vector<Point> points = points_of(4, 60);
  const NearestRows found = knn(points, 4, on_one_thread);
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_EQ(list_of(found[i]), nearest(points, points[i], 4, i));
}

TEST(CppIndex, AnswersSeveralSearchesByItsMetric) {
  const std::vector<float> components{0, 0, 3, 4, 6, 0};
  const Points points(components, 2);
  Index index(points, {.metric = Metric::l1, .backend = Backend::cpu, .threads = 1});
  const std::array<float, 2> origin{};
  const NearestRows all = index.search(Points(origin, 2), 3);
  EXPECT_EQ(list_of(all[0]), (List{{0, 0.0}, {2, 6.0}, {1, 7.0}}));
  const NearestRows others = index.search(points, 1, 0);
  EXPECT_EQ(list_of(others[1]), (List{{0, 7.0}}));
  const NearestRows none = index.search(Points({}, 2), 1);
  EXPECT_EQ(none.size(), 0u);
}

TEST(CppIndex, FindsAllPointsWithinADistanceAlsoThoseAtIt) {
  const std::vector<Point> queries = points_of(8, 7);
  const std::vector<Point> points = points_of(7, 300);
  Index index(points, on_one_thread);
  for (const double radius : {0.0, 3.0, std::sqrt(50.0), 1e300}) {
    const RowsWithin found = index.within(queries, radius);
    ASSERT_EQ(found.size(), queries.size());
    std::size_t entries = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      List expected = nearest(points, queries[i], points.size());
      std::erase_if(expected, [&](const auto& each) { return each.second > radius; });
      EXPECT_EQ(list_of(found[i]), expected) << "radius " << radius;
      entries += expected.size();
    }
    EXPECT_EQ(found.entry_count(), entries);
  }
  const RowsWithin others = index.within(points, 0, 0);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (const auto [row, distance] : others[i]) EXPECT_TRUE(row != i && points[row] == points[i]);
  EXPECT_EQ(index.within(Points({}, 3), 1).size(), 0u);
  for (const double radius : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT, [&] { index.within(points, radius); }),
                HasSubstr("radius is "));
}

TEST(CppIndex, OfAGpuSearchesByRadiusOnTheCpuAndCanBeCancelled) {
  const std::vector<Point> points = points_of(9, 200'000);
  std::optional<Index> index;
  try {
    index.emplace(points, IndexOptions{.backend = Backend::cuda});
  } catch (const Error& error) {
    if (error.code() == STARLING_UNAVAILABLE) GTEST_SKIP() << error.what();
    throw;
  }
  Index on_cpu(points, {.backend = Backend::cpu});
  const std::span<const Point> queries = std::span(points).first(500);
  const RowsWithin found = index->within(queries, 2);
  const RowsWithin expected = on_cpu.within(queries, 2);
  EXPECT_GT(found.entry_count(), queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i)
    EXPECT_EQ(list_of(found[i]), list_of(expected[i]));
  const starling_progress_function cancel = [](const starling_progress*) { return 1; };
  ASSERT_EQ(starling_set_progress(cancel, nullptr), STARLING_OK);
  for (Index* each : {&*index, &on_cpu}) {
    EXPECT_NE(refusal(STARLING_CANCELLED, [&] { each->search(points, 100); }), "");
    EXPECT_NE(refusal(STARLING_CANCELLED, [&] { each->within(points, 1000); }), "");
  }
  ASSERT_EQ(starling_set_progress(nullptr, nullptr), STARLING_OK);
  const NearestRows after = index->search(queries, 3);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(list_of(after[i]), nearest(points, points[i], 3));
}

TEST(CppIndex, RefusesArgumentsBySentencesThatNameThem) {
  const std::vector<float> seven(7);
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT, [&] { Points(seven, 3); }),
              AllOf(HasSubstr("3 components"), HasSubstr("7 numbers")));
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT, [&] { Points(seven, 0); }),
              HasSubstr("Points of 0 components"));
  std::vector<Point> points = points_of(5, 9);
  Index index(points, on_one_thread);
  for (const std::uint32_t k : {0u, 2049u, ~0u})
    EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT, [&] { index.search(points, k); }),
                HasSubstr("k is " + std::to_string(k) + "; it must be 1 to 2048"));
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT, [&] { index.search(Points(seven, 7), 1); }),
              AllOf(HasSubstr("queries have 7"), HasSubstr("the points 3")));
  points[6][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT, [&] { knn(points, 1, on_one_thread); }),
              AllOf(HasSubstr("row 7"), HasSubstr("component 2")));
}

TEST(CppIndex, ThatWasMovedFromIsRefused) {
  const std::vector<Point> points = points_of(6, 3);
  Index index(points, on_one_thread);
  const Index taken = std::move(index);
  EXPECT_NE(refusal(STARLING_BAD_HANDLE, [&] { index.search(points, 1); }), "");
}

// A list that is taken from a temporary result would point to freed memory, so it must not compile.
template <class Found>
concept gives_rows = requires(Found found) {
  std::forward<Found>(found)[0];
};
static_assert(gives_rows<NearestRows&>);
static_assert(!gives_rows<NearestRows>);
static_assert(gives_rows<RowsWithin&>);
static_assert(!gives_rows<RowsWithin>);

static_assert(std::ranges::forward_range<NeighborList<std::uint32_t>>);
static_assert(std::ranges::sized_range<NeighborList<std::uint32_t>>);
static_assert(std::is_constructible_v<Points, std::span<const Point>>);
static_assert(!std::is_constructible_v<Points, std::vector<double>>);

}  // namespace
}  // namespace starling::test
