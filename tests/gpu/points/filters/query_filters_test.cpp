// SPDX-License-Identifier: Apache-2.0
// Tests QueryFilters: which filters count as different, which queries share a filter, and how age
// limits are ranked. The test needs no GPU.
#include "starling/gpu/points/filters/query_filters.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling::gpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Appends a living query for 4 neighbours, in the next slot, and returns it.
QueryRow& add(std::vector<QueryRow>& queries, TagFilter tags,
              std::int64_t age_us_max = Filter::any_age) {
  QueryRow& query = queries.emplace_back();
  query.slot = static_cast<Slot>(queries.size() - 1);
  query.generation = 1;
  query.k = 4;
  query.filter.tags = tags;
  query.filter.age_us_max = age_us_max;
  return query;
}

TEST(QueryFilters, QueriesThatAcceptAllObjectsHaveNoFilter) {
  std::vector<QueryRow> queries;
  add(queries, {});
  add(queries, {}).filter.key_max = RankKey{7};
  add(queries, {.required = 1}).generation = 2;  // even generation: a removed query
  QueryFilters filters;
  filters.assign(queries);
  EXPECT_THAT(filters.filters(), IsEmpty());
  EXPECT_THAT(filters.numbers(), IsEmpty());
}

TEST(QueryFilters, EqualFiltersHaveOneNumberWhateverTheirDistance) {
  std::vector<QueryRow> queries;
  add(queries, {.required = 1});
  add(queries, {.required = 2});
  add(queries, {.required = 1}).filter.key_max = RankKey{7};
  add(queries, {.forbidden = 1});
  add(queries, {.required = 1}, 5);
  QueryFilters filters;
  filters.assign(queries);
  const std::vector<std::uint32_t>& numbers = filters.numbers();
  EXPECT_EQ(filters.filters().size(), 4u);
  EXPECT_EQ(numbers[0], numbers[2]);
  const QueryFilter& shared = filters.filters()[numbers[0]];
  EXPECT_EQ(shared.tags, (TagFilter{.required = 1}));
  EXPECT_EQ(shared.searches, 2u);
  EXPECT_EQ(shared.neighbors, 8u);
}

TEST(QueryFilters, AQueryForEveryObjectIsCountedApart) {
  std::vector<QueryRow> queries;
  add(queries, {.required = 1}).anchor = AnchorKind::every_object;
  add(queries, {.required = 1});
  QueryFilters filters;
  filters.assign(queries);
  ASSERT_EQ(filters.filters().size(), 1u);
  EXPECT_EQ(filters.filters()[0].every_object, 4u);
  EXPECT_EQ(filters.filters()[0].searches, 1u);
}

TEST(QueryFilters, AgeLimitsAreRankedFromTheGreatest) {
  std::vector<QueryRow> queries;
  for (const std::int64_t age_us : {5, 90, 5, 0}) add(queries, {}, age_us);
  add(queries, {.required = 1});
  QueryFilters filters;
  filters.assign(queries);
  EXPECT_THAT(filters.ages_us(), ElementsAre(90, 5, 0));
  const auto rank_of = [&](std::size_t query) {
    return filters.filters()[filters.numbers()[query]].least_rank;
  };
  EXPECT_EQ(rank_of(0), 2u);
  EXPECT_EQ(rank_of(1), 1u);
  EXPECT_EQ(rank_of(2), 2u);
  EXPECT_EQ(rank_of(3), 3u);
  EXPECT_EQ(rank_of(4), 0u);
}

}  // namespace
}  // namespace starling::gpu
