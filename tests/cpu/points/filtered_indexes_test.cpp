// SPDX-License-Identifier: Apache-2.0
// Tests the indexes of objects that pass a filter. Compares lists with a brute force over all
// objects while tags change. Several filters are in use, some with an index and some without.
#include "starling/cpu/points/filtered_indexes.hpp"

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

TEST(FilteredIndexes, AnswerAsEveryObjectAskedOneByOne) {
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

class FiftiethIsFree : public ::testing::Test {
 protected:
  FiftiethIsFree() {
    std::vector<ObjectBirth> births;
    std::vector<ObjectRow> rows;
    for (Slot slot = 0; slot < 10'000; ++slot) {
      births.push_back({.slot = slot, .id = ObjectId{slot}});
      ObjectRow& row = rows.emplace_back();
      row.slot = slot;
      row.generation = 1;
      row.position = {static_cast<std::int32_t>(slot % 100), static_cast<std::int32_t>(slot / 100),
                      0};
      row.time_us = slot;
      row.tags = slot % 50 == 0 ? is_free : is_large;
    }
    objects_.add(births);
    objects_.apply(rows, pool_);
    all_.build(objects_.all_points(), objects_, scratch_, pool_);
  }

  void build(const std::vector<PlannedFilter>& filters) {
    indexes_.choose(filters, 10'000, objects_);
    indexes_.build(objects_, all_, scratch_, pool_);
  }

  ThreadPool pool_{2};
  ObjectSnapshot objects_;
  SpatialIndex::Scratch scratch_;
  SpatialIndex all_{Space::planar2};
  FilteredIndexes indexes_{Space::planar2};
};

TEST_F(FiftiethIsFree, AFilterHasAnIndexIfItSavesMoreThanItCosts) {
  const TagFilter free{.required = is_free};
  build({{.tags = free, .searches = 1, .neighbors = 8}});
  EXPECT_EQ(indexes_.index_of(0), nullptr);
  build({{.tags = free, .searches = 500, .neighbors = 4000}});
  ASSERT_NE(indexes_.index_of(0), nullptr);
  EXPECT_EQ(indexes_.index_of(0)->grid()->count(), 200u);
  EXPECT_GT(indexes_.bytes_used(), 0u);
}

TEST_F(FiftiethIsFree, AFilterThatAllPassHasNoIndex) {
  build({{.tags = {}, .searches = 500, .neighbors = 4000},
         {.tags = {.forbidden = 4}, .searches = 500, .neighbors = 4000}});
  EXPECT_EQ(indexes_.index_of(0), nullptr);
  EXPECT_EQ(indexes_.index_of(1), nullptr);
  EXPECT_TRUE(all_.grid()->has_attached());
}

TEST_F(FiftiethIsFree, AnIndexHasExactlyTheObjectsThatPassTagsAndAge) {
  build({{.tags = {.required = is_free}, .age_us_max = 9'000, .searches = 500, .neighbors = 4000},
         {.tags = {.forbidden = is_large}, .age_us_max = 5'000, .searches = 500, .neighbors = 4000},
         {.tags = {}, .age_us_max = 10, .searches = 500, .neighbors = 4000},
         {.tags = {}, .age_us_max = 0, .searches = 500, .neighbors = 4000}});
  const std::size_t expected[] = {180, 100, 10, 0};
  for (std::uint32_t filter = 0; filter < 4; ++filter) {
    const SpatialIndex* const index = indexes_.index_of(filter);
    ASSERT_NE(index, nullptr) << filter;
    EXPECT_EQ(index->grid() != nullptr ? index->grid()->count() : index->tree().count(),
              expected[filter]);
  }
}

TEST_F(FiftiethIsFree, AFilterWhoseSearchesGaveUpHasAnIndexInTheNextTick) {
  // Five searches are too few for an index if one object in fifty passes the filter. They are
  // enough if fewer objects pass. A search that gives up is a sign that fewer pass.
  const std::vector<PlannedFilter> filters{
      {.tags = {.required = is_free}, .searches = 5, .neighbors = 40}};
  build(filters);
  ASSERT_EQ(indexes_.index_of(0), nullptr);
  indexes_.note_gave_up(0);
  build(filters);
  EXPECT_NE(indexes_.index_of(0), nullptr);
}

}  // namespace
}  // namespace starling::cpu
