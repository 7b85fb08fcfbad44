// SPDX-License-Identifier: Apache-2.0
// The grid of objects that pass the usual tag filter. Answers are compared with a test of every
// object, while tags change, with other filters in use, and whether the grid is used or not.
#include "starling/cpu/points/filtered_grid.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "starling/cpu/backend.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "tests/support/random.hpp"

namespace starling::cpu {
namespace {

constexpr std::uint32_t is_free = 1;
constexpr std::uint32_t is_large = 2;

struct Object {
  LatticePoint position;
  std::uint32_t tags = 0;
};

std::vector<Neighbor> brute_force(const std::vector<Object>& objects,
                                  const QueryDefinition& query) {
  std::vector<Neighbor> found;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::uint64_t gap_sq = distance_sq(objects[i].position, query.anchor.position);
    if ((objects[i].tags & query.filter.tags.required) == query.filter.tags.required &&
        (objects[i].tags & query.filter.tags.forbidden) == 0 &&
        gap_sq <= to_number(query.filter.key_max))
      found.push_back({RankKey{gap_sq}, ObjectId{i}});
  }
  std::ranges::sort(found);
  found.resize(std::min<std::size_t>(found.size(), query.k));
  return found;
}

class Fleet {
 public:
  Fleet(test::Random& random, std::size_t objects, std::size_t queries, double free_share)
      : random_(random), free_share_(free_share), objects_(objects), held_(queries) {
    processor_.put_stream({.name = "riders", .on = ReportOn::distance});
    for (std::size_t i = 0; i < queries; ++i) queries_.push_back(random_query(i));
    std::vector<QueryStatus> statuses(queries);
    processor_.put_queries(StreamId{0}, queries_, statuses);
  }

  void tick(std::int64_t tau_us) {
    std::vector<ObjectUpdate> rows;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (tau_us > 1 && random_.chance(0.5)) continue;
      objects_[i] = {random_point(), (random_.chance(free_share_) ? is_free : 0) |
                                         (random_.chance(0.5) ? is_large : 0)};
      rows.push_back({ObjectId{i}, tau_us, objects_[i].position, objects_[i].tags, true});
    }
    std::vector<UpdateStatus> statuses(rows.size());
    processor_.update(rows, tau_us, statuses);
    TickReport report = ticks_.advance(tau_us);
    ASSERT_EQ(report.error, "");
    for (const QueryReport& list : report.streams.front().queries)
      held_[to_number(list.query)].assign(list.neighbors.begin(), list.neighbors.end());
    for (std::size_t i = 0; i < queries_.size(); ++i)
      ASSERT_EQ(held_[i], brute_force(objects_, queries_[i])) << "query " << i;
  }

 private:
  LatticePoint random_point() {
    const auto coordinate = [&] { return static_cast<std::int32_t>(random_.below(20'000)); };
    const std::int32_t x = coordinate();
    return {x, coordinate(), 0};
  }

  QueryDefinition random_query(std::size_t id) {
    QueryDefinition query{.id = QueryId{id}};
    query.k = static_cast<std::uint32_t>(1 + random_.below(20));
    query.anchor.position = random_point();
    if (random_.chance(0.8)) {
      query.filter.tags.required = is_free;
    } else if (random_.chance(0.5)) {
      query.filter.tags.forbidden = is_large;
    }
    if (random_.chance(0.3)) query.filter.key_max = RankKey{random_.below(4'000'000)};
    return query;
  }

  test::Random& random_;
  const double free_share_;
  std::vector<Object> objects_;
  std::vector<QueryDefinition> queries_;
  std::vector<std::vector<Neighbor>> held_;
  Processor processor_{ProcessorOptions(), make_engine({.threads = 2})};
  LockStep ticks_{processor_};
};

TEST(FilteredGrid, AnswersAsEveryObjectAskedOneByOne) {
  for (const std::uint64_t seed : test::seeds(12)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    for (const double free_share : {0.0, 0.003, 0.1, 0.7, 1.0}) {
      const std::size_t queries = random.chance(0.5) ? 200 : 3;
      Fleet fleet(random, 1 + random.below(3000), queries, free_share);
      for (std::int64_t tau_us = 1; tau_us <= 3; ++tau_us) fleet.tick(tau_us);
    }
  }
}

TEST(FilteredGrid, IsBuiltWhereItSavesMoreThanItCosts) {
  ThreadPool pool(1);
  ObjectSnapshot objects;
  std::vector<ObjectBirth> births;
  std::vector<ObjectRow> rows;
  for (Slot slot = 0; slot < 10'000; ++slot) {
    births.push_back({.slot = slot, .id = ObjectId{slot}});
    ObjectRow& row = rows.emplace_back();
    row.slot = slot;
    row.generation = 1;
    row.position = {static_cast<std::int32_t>(slot % 100), static_cast<std::int32_t>(slot / 100),
                    0};
    row.tags = slot % 50 == 0 ? is_free : is_large;
  }
  objects.add(births);
  objects.apply(rows, pool);
  GridIndex::Scratch scratch;
  FilteredGrid grid(Space::planar2);
  ListPlan plan;
  plan.usual_tags = {.required = is_free};
  plan.usual_tags_neighbors = 16;
  grid.build(plan, objects, scratch, pool);
  EXPECT_FALSE(grid.serves(plan.usual_tags));
  plan.usual_tags_neighbors = 16 * 200;
  grid.build(plan, objects, scratch, pool);
  EXPECT_TRUE(grid.serves(plan.usual_tags));
  EXPECT_FALSE(grid.serves({}));
  EXPECT_FALSE(grid.serves({.required = is_large}));
  plan.usual_tags = {};
  grid.build(plan, objects, scratch, pool);
  EXPECT_FALSE(grid.serves({.required = is_free}));
}

}  // namespace
}  // namespace starling::cpu
