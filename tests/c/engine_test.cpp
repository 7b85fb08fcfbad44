// SPDX-License-Identifier: Apache-2.0
// Tests the engine and the index of the C interface against plain searches.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <starling.h>

#include "tests/c/c_world.hpp"

namespace starling::test {
namespace {

class CEngine : public testing::Test {
 protected:
  void SetUp() override {
    starling_engine_options options{};
    ASSERT_EQ(starling_engine_options_init(&options, sizeof(options)), STARLING_OK);
    options.backend = STARLING_BACKEND_CPU;
    options.threads = 1;
    options.objects_max = 1 << 20;
    options.object_ttl_us = 10'000'000;
    ASSERT_EQ(starling_engine_create(&options, &engine), STARLING_OK) << last_error().sentence;
    put_stream("all");
  }
  ~CEngine() override { starling_engine_destroy(engine); }

  void put_stream(const char* name) {
    starling_stream stream{};
    ASSERT_EQ(starling_stream_init(&stream, sizeof(stream)), STARLING_OK);
    stream.name = name;
    stream.on = STARLING_ON_DISTANCE;
    ASSERT_EQ(starling_engine_put_stream(engine, &stream), STARLING_OK) << last_error().sentence;
  }

  void put(const starling_query& query) {
    ASSERT_EQ(starling_engine_put_queries(engine, "all", &query, 1, nullptr, &counts), STARLING_OK)
        << last_error().sentence;
    ASSERT_EQ(counts.accepted, 1u);
  }

  void update() {
    const starling_rows rows = world.rows();
    ASSERT_EQ(starling_engine_update(engine, &rows, INT64_MAX, nullptr, &counts), STARLING_OK)
        << last_error().sentence;
    ASSERT_EQ(counts.accepted, rows.count);
  }

  starling_result* tick(std::int64_t tau_us) {
    starling_result* result = nullptr;
    EXPECT_EQ(starling_engine_tick(engine, tau_us, &result), STARLING_OK) << last_error().sentence;
    return result;
  }

  starling_engine* engine = nullptr;
  starling_counts counts{.size = sizeof(starling_counts), .accepted = 0, .late = 0, .rejected = 0};
  CWorld world{2, 300};
  CLists held;
};

TEST_F(CEngine, IsNamed) {
  EXPECT_STREQ(starling_engine_name(engine), "cpu");
}

TEST_F(CEngine, ReportsTheExactListsOfEveryTick) {
  const std::vector<CPlace> places{{0, 0}, {-50, 50}, {17, -3}};
  for (std::size_t i = 0; i < places.size(); ++i) put(query_at(i, 9, places[i]));
  for (std::int64_t time_us = 1'000'000; time_us <= 30'000'000; time_us += 1'000'000) {
    world.move(time_us);
    update();
    apply(tick(time_us), held);
    ASSERT_EQ(held.size(), places.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      expect_near_equal(held[i], world.nearest(places[i], 9));
  }
}

TEST_F(CEngine, StagesRowsWhileATickIsUnderWay) {
  put(query_at(1, 3, {5, 5}));
  world.move(1'000'000);
  update();
  ASSERT_EQ(starling_engine_begin_tick(engine, 1'000'000), STARLING_OK);
  const std::vector<CNeighbor> first = world.nearest({5, 5}, 3);
  world.move(2'000'000);
  update();
  starling_result* result = nullptr;
  ASSERT_EQ(starling_engine_finish_tick(engine, &result), STARLING_OK);
  apply(result, held);
  expect_near_equal(held[1], first);
  apply(tick(2'000'000), held);
  expect_near_equal(held[1], world.nearest({5, 5}, 3));
}

TEST_F(CEngine, AnswersQuestionsFromTheLastTick) {
  world.move(1'000'000);
  update();
  starling_result_destroy(tick(1'000'000));
  const std::vector<starling_query> questions{query_at(0, 4, {1, 1}), query_at(0, 2, {-9, 30})};
  starling_result* result = nullptr;
  ASSERT_EQ(starling_engine_neighbors(engine, questions.data(), questions.size(), &result),
            STARLING_OK)
      << last_error().sentence;
  apply(result, held);
  expect_near_equal(held[0], world.nearest({1, 1}, 4));
  expect_near_equal(held[1], world.nearest({-9, 30}, 2));
}

TEST_F(CEngine, TellsAnUnknownObjectFromAnEmptyList) {
  const std::vector<starling_query> questions{alone(7), query_at(0, 2, {900, 900}), alone(301)};
  const auto unknown = [&] {
    starling_result* result = nullptr;
    EXPECT_EQ(starling_engine_neighbors(engine, questions.data(), questions.size(), &result),
              STARLING_OK)
        << last_error().sentence;
    return unknown_of(result);
  };
  world.move(1'000'000);
  update();
  EXPECT_THAT(unknown(), testing::ElementsAre(1, 0, 1)) << "the rows wait for a tick";
  EXPECT_TRUE(unknown_of(tick(1'000'000)).empty()) << "lists of a tick are no answers";
  EXPECT_THAT(unknown(), testing::ElementsAre(0, 0, 1));
  const std::uint64_t seven = 7;
  const std::int64_t time_us = 2'000'000;
  ASSERT_EQ(starling_engine_remove_objects(engine, 1, &seven, &time_us, nullptr, &counts),
            STARLING_OK);
  starling_result_destroy(tick(2'000'000));
  EXPECT_THAT(unknown(), testing::ElementsAre(1, 0, 1));
}

TEST_F(CEngine, FillsOnlyTheMembersOfListsThatTheCallerKnows) {
  const starling_query question = alone(301);
  starling_result* result = nullptr;
  ASSERT_EQ(starling_engine_neighbors(engine, &question, 1, &result), STARLING_OK);
  starling_lists lists{};
  lists.size = offsetof(starling_lists, is_unknown);
  const std::uint8_t beyond = 7;
  lists.is_unknown = &beyond;
  EXPECT_EQ(starling_result_lists(result, 0, &lists), STARLING_OK) << last_error().sentence;
  EXPECT_EQ(lists.list_count, 1u);
  EXPECT_EQ(lists.is_unknown, &beyond);
  lists.size = offsetof(starling_lists, means);
  EXPECT_EQ(starling_result_lists(result, 0, &lists), STARLING_INVALID_ARGUMENT);
  EXPECT_EQ(starling_result_destroy(result), STARLING_OK);
}

TEST_F(CEngine, GivesEachRowItsStatus) {
  const std::vector<std::uint64_t> ids{1, 2, 3, 1};
  const std::vector<std::int64_t> times_us{5, 5, 5, 4};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> coordinates{0, 0, nan, 0, 1e300, 0, 1, 1};
  starling_rows rows{};
  rows.size = sizeof(rows);
  rows.count = ids.size();
  rows.ids = ids.data();
  rows.times_us = times_us.data();
  rows.coordinates = coordinates.data();
  rows.components = 2;
  std::vector<starling_row_status> statuses(ids.size());
  ASSERT_EQ(starling_engine_update(engine, &rows, INT64_MAX, statuses.data(), &counts),
            STARLING_OK);
  EXPECT_THAT(statuses,
              testing::ElementsAre(STARLING_ROW_ACCEPTED, STARLING_ROW_POSITION_NOT_FINITE,
                                   STARLING_ROW_POSITION_OUT_OF_RANGE, STARLING_ROW_LATE));
  EXPECT_EQ(counts.accepted, 1u);
  EXPECT_EQ(counts.late, 1u);
  EXPECT_EQ(counts.rejected, 2u);
}

TEST_F(CEngine, ReportsRemovalsAndExpiry) {
  put(query_at(1, 300, {0, 0}));
  world.move(1'000'000);
  update();
  apply(tick(1'000'000), held);
  EXPECT_EQ(held[1].size(), 300u);
  const std::uint64_t gone = 7;
  const std::int64_t time_us = 2'000'000;
  ASSERT_EQ(starling_engine_remove_objects(engine, 1, &gone, &time_us, nullptr, &counts),
            STARLING_OK);
  apply(tick(2'000'000), held);
  EXPECT_EQ(held[1].size(), 299u);
  apply(tick(20'000'000), held);
  EXPECT_TRUE(held[1].empty());
  const std::uint64_t query = 1;
  ASSERT_EQ(starling_engine_remove_queries(engine, "all", &query, 1, nullptr, &counts),
            STARLING_OK);
  apply(tick(21'000'000), held);
  EXPECT_TRUE(held.empty());
}

TEST_F(CEngine, FiltersByTagsAndDistanceBeforeTheLimit) {
  world.move(1'000'000);
  update();
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= 300; id += 2) ids.push_back(id);
  const std::vector<std::int64_t> times_us(ids.size(), 1'000'000);
  const std::vector<std::uint32_t> free(ids.size(), 1);
  const std::vector<std::uint32_t> none(ids.size(), 0);
  ASSERT_EQ(starling_engine_update_tags(engine, ids.size(), ids.data(), times_us.data(),
                                        free.data(), none.data(), nullptr, &counts),
            STARLING_OK);
  starling_query query = query_at(1, 1024, {0, 0});
  query.tags_required = 1;
  query.distance_max = 20;
  put(query);
  apply(tick(1'000'000), held);
  std::vector<CNeighbor> wanted;
  for (const CNeighbor& neighbor : world.nearest({0, 0}, 300))
    if (neighbor.id % 2 == 1 && neighbor.distance_m <= 20) wanted.push_back(neighbor);
  ASSERT_FALSE(wanted.empty());
  expect_near_equal(held[1], wanted);
}

TEST_F(CEngine, KeepsAListForEveryObject) {
  starling_query query{};
  ASSERT_EQ(starling_query_init(&query, sizeof(query)), STARLING_OK);
  query.id = 5;
  query.k = 4;
  query.anchor = STARLING_EVERY_OBJECT;
  put(query);
  world.move(1'000'000);
  update();
  starling_result* const result = tick(1'000'000);
  starling_lists lists{};
  lists.size = sizeof(lists);
  ASSERT_EQ(starling_result_lists(result, 0, &lists), STARLING_OK);
  ASSERT_EQ(lists.list_count, 300u);
  ASSERT_EQ(lists.entry_count, 1200u);
  for (std::uint64_t i = 0; i < lists.list_count; ++i) {
    ASSERT_EQ(lists.has_subject[i], 1);
    const CPlace place = world.place_of(lists.subject_ids[i]);
    std::vector<CNeighbor> wanted = world.nearest(place, 5);
    std::erase_if(wanted, [&](const CNeighbor& one) { return one.id == lists.subject_ids[i]; });
    wanted.resize(4);
    for (std::uint64_t rank = 0; rank < 4; ++rank)
      ASSERT_EQ(lists.object_ids[lists.offsets[i] + rank], wanted[rank].id);
  }
  starling_result_destroy(result);
}

TEST(CIndex, FindsTheExactNearestRowsAndNoRowItself) {
  Random random(3);
  constexpr std::uint32_t dimension = 24;
  constexpr std::uint64_t row_count = 500;
  constexpr std::uint32_t k = 10;
  std::vector<float> rows;
  // Small integers, so that every sum is exact in float32.
  for (std::uint64_t i = 0; i < row_count * dimension; ++i)
    rows.push_back(static_cast<float>(random.between(-8, 8)));
  starling_index_options options{};
  ASSERT_EQ(starling_index_options_init(&options, sizeof(options)), STARLING_OK);
  options.backend = STARLING_BACKEND_CPU;
  options.threads = 2;
  std::vector<std::uint32_t> found(row_count * k);
  std::vector<double> distances(row_count * k);
  for (const bool are_rows : {false, true}) {
    options.borrows = are_rows ? 1 : 0;
    starling_index* index = nullptr;
    ASSERT_EQ(starling_index_create(&options, rows.data(), row_count, dimension, &index),
              STARLING_OK)
        << last_error().sentence;
    ASSERT_EQ(
        starling_index_search(index, rows.data(), row_count, k, are_rows ? 0 : STARLING_NOT_A_ROW,
                              found.data(), distances.data()),
        STARLING_OK)
        << last_error().sentence;
    for (std::uint64_t query = 0; query < row_count; ++query) {
      std::vector<std::pair<std::int64_t, std::uint32_t>> all;
      for (std::uint32_t row = 0; row < row_count; ++row) {
        if (are_rows && row == query) continue;
        std::int64_t square = 0;
        for (std::uint32_t j = 0; j < dimension; ++j) {
          const auto difference = static_cast<std::int64_t>(rows[query * dimension + j]) -
                                  static_cast<std::int64_t>(rows[row * dimension + j]);
          square += difference * difference;
        }
        all.emplace_back(square, row);
      }
      std::ranges::sort(all);
      for (std::uint32_t rank = 0; rank < k; ++rank) {
        ASSERT_EQ(found[query * k + rank], all[rank].second);
        ASSERT_EQ(distances[query * k + rank], std::sqrt(static_cast<double>(all[rank].first)));
      }
    }
    EXPECT_EQ(starling_index_destroy(index), STARLING_OK);
  }
}

TEST(CIndex, TellsPointsOfFloat64ApartThatFloat32Merges) {
  // A grid of 7 by 9 points, 0.25 m apart, in metres north and east of the origin of a UTM zone.
  // Steps of float32 are 0.5 and 0.0625 there.
  constexpr std::uint32_t columns = 9;
  std::vector<double> rows;
  for (std::uint32_t i = 0; i < 63; ++i)
    rows.insert(rows.end(), {6'650'000.1 + 0.25 * (i / columns), 597'000.1 + 0.25 * (i % columns)});
  starling_index_options options{};
  ASSERT_EQ(starling_index_options_init(&options, sizeof(options)), STARLING_OK);
  options.backend = STARLING_BACKEND_CPU;
  for (const std::int32_t borrows : {0, 1}) {
    options.borrows = borrows;
    starling_index* index = nullptr;
    ASSERT_EQ(starling_index_create_f64(&options, rows.data(), 63, 2, &index), STARLING_OK)
        << last_error().sentence;
    std::array<double, 2> offset{};
    std::uint64_t merged = 1;
    ASSERT_EQ(starling_index_rounding(index, offset.data(), &merged), STARLING_OK);
    EXPECT_NEAR(offset[0], 6'650'000, 2);
    EXPECT_NEAR(offset[1], 597'000, 2);
    EXPECT_EQ(merged, 0u);
    EXPECT_EQ(starling_index_rounding(index, nullptr, nullptr), STARLING_OK);
    std::vector<std::uint32_t> found(63);
    std::vector<double> distances(63);
    ASSERT_EQ(starling_index_search_f64(index, rows.data(), 63, 1, STARLING_NOT_A_ROW, found.data(),
                                        distances.data()),
              STARLING_OK);
    for (std::uint32_t i = 0; i < 63; ++i) {
      EXPECT_EQ(found[i], i);
      EXPECT_EQ(distances[i], 0);
    }
    // The index subtracts the same offset from a query of float32. On each axis, the query is 0.1 m
    // from the first point.
    const std::array<float, 2> query{6'650'000, 597'000};
    ASSERT_EQ(starling_index_search(index, query.data(), 1, 1, STARLING_NOT_A_ROW, found.data(),
                                    distances.data()),
              STARLING_OK);
    EXPECT_EQ(found[0], 0u);
    EXPECT_NEAR(distances[0], std::sqrt(0.02), 1e-6);
    EXPECT_EQ(starling_index_destroy(index), STARLING_OK);
  }
}

TEST(CIndex, CountsThePointsThatRoundingHasMerged) {
  const std::array<double, 4> rows{0.5, 1, 1 + 1e-12, 1e6};
  starling_index_options options{};
  ASSERT_EQ(starling_index_options_init(&options, sizeof(options)), STARLING_OK);
  options.backend = STARLING_BACKEND_CPU;
  starling_index* index = nullptr;
  ASSERT_EQ(starling_index_create_f64(&options, rows.data(), 4, 1, &index), STARLING_OK);
  double offset = 1;
  std::uint64_t merged = 0;
  ASSERT_EQ(starling_index_rounding(index, &offset, &merged), STARLING_OK);
  EXPECT_EQ(offset, 0);
  EXPECT_EQ(merged, 2u);
  EXPECT_EQ(starling_index_destroy(index), STARLING_OK);
}

TEST(CKnn, SaysWhichComponentIsNotAllowed) {
  std::vector<float> points(12, 1.0f);
  points[7] = -1;
  starling_index_options options{};
  ASSERT_EQ(starling_index_options_init(&options, sizeof(options)), STARLING_OK);
  options.backend = STARLING_BACKEND_CPU;
  options.metric = STARLING_HELLINGER;
  std::vector<std::uint32_t> rows(3);
  EXPECT_EQ(starling_knn(&options, points.data(), 3, points.data(), 3, 4, 1, rows.data(), nullptr),
            STARLING_INVALID_ARGUMENT);
  EXPECT_THAT(last_error().sentence, testing::HasSubstr("The points, row 2: component 4 is"));
}

TEST(CKnn, FillsTheListsOfFewPointsWithNoRow) {
  const std::vector<float> points{0, 5};
  starling_index_options options{};
  ASSERT_EQ(starling_index_options_init(&options, sizeof(options)), STARLING_OK);
  options.backend = STARLING_BACKEND_CPU;
  std::vector<std::uint32_t> rows(3);
  std::vector<double> distances(3);
  const float query = 4;
  ASSERT_EQ(
      starling_knn(&options, points.data(), 2, &query, 1, 1, 3, rows.data(), distances.data()),
      STARLING_OK);
  EXPECT_THAT(rows, testing::ElementsAre(1, 0, STARLING_NO_ROW));
  EXPECT_EQ(distances[0], 1);
  EXPECT_EQ(distances[1], 4);
  EXPECT_TRUE(std::isnan(distances[2]));
}

}  // namespace
}  // namespace starling::test
