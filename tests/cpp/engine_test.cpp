// SPDX-License-Identifier: Apache-2.0
// Tests Engine of starling.hpp against a plain search that sorts all objects.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "starling/starling.hpp"
#include "tests/c/c_world.hpp"
#include "tests/cpp/own_headers.hpp"
#include "tests/cpp/refusal.hpp"

namespace starling::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

EngineOptions options_of(Space space) {
  EngineOptions options{.space = space};
  options.backend = Backend::cpu;
  options.threads = 1;
  return options;
}

std::vector<std::uint64_t> ids_of(const List& list) {
  return {list.ids.begin(), list.ids.end()};
}

class CppEngine : public testing::Test {
 protected:
  CppEngine() {
    engine.put_stream("near");
    for (std::uint64_t id = 1; id <= 4; ++id) engine.update(id, {static_cast<double>(id), 0}, 1);
  }

  Engine engine{options_of(Space::planar2)};
};

TEST_F(CppEngine, IsTheOneOnTheCpu) {
  EXPECT_STREQ(engine.backend(), "cpu");
}

TEST(CppEngineTicks, ReportExactListsOfEveryTick) {
  Engine engine(options_of(Space::planar2));
  engine.put_stream("all", {.on = ReportOn::distance});
  CWorld world(7, 200);
  const std::vector<CPlace> places{{0, 0}, {-50, 50}, {17, -3}};
  std::vector<Query> queries;
  for (std::size_t i = 0; i < places.size(); ++i)
    queries.push_back({.id = i,
                       .k = 9,
                       .at = {static_cast<double>(places[i].x), static_cast<double>(places[i].y)}});
  engine.put_queries("all", queries);
  std::vector<std::vector<CNeighbor>> held(places.size());
  for (std::int64_t tau_us = 1; tau_us <= 20; ++tau_us) {
    world.move(tau_us);
    const starling_rows rows = world.rows();
    const std::vector<std::int64_t> times_us(rows.count, tau_us);
    const starling_counts counts = engine.update({.ids = {rows.ids, rows.count},
                                                  .coordinates = {rows.coordinates, 2 * rows.count},
                                                  .times_us = times_us});
    EXPECT_EQ(counts.accepted, rows.count);
    const Result tick = engine.tick(tau_us);
    EXPECT_EQ(tick.info().tick, static_cast<std::uint64_t>(tau_us));
    EXPECT_EQ(tick.info().object_count, 200u);
    for (const List& list : tick) {
      held[list.query].clear();
      for (const auto& [id, distance] : list) held[list.query].push_back({id, distance});
    }
    for (std::size_t i = 0; i < places.size(); ++i)
      expect_near_equal(held[i], world.nearest(places[i], 9));
  }
}

TEST_F(CppEngine, ListsAreRangesOverAllStreamsOrOne) {
  engine.put_stream("bare", {.with_distance = false});
  engine.put_stream("full", {.with_position = true, .with_tags = true});
  engine.put_query("near", {.id = 8, .k = 2});
  engine.put_query("near", {.id = 9, .k = 1, .at = {4, 0}});
  engine.put_query("bare", {.id = 8, .k = 2});
  engine.put_query("full", {.id = 5, .k = 1, .follow = 3});
  const Result tick = engine.tick(1);
  EXPECT_EQ(tick.size(), 4u);
  EXPECT_EQ(std::ranges::distance(tick), 4);
  std::vector<std::string> seen;
  for (const List& list : tick)
    seen.push_back(std::string(list.stream) + " " + std::to_string(list.query));
  EXPECT_THAT(seen, testing::UnorderedElementsAre("near 8", "near 9", "bare 8", "full 5"));

  EXPECT_EQ(tick.of("near").size(), 2u);
  const List bare = tick.of("bare")[0];
  EXPECT_THAT(ids_of(bare), ElementsAre(1, 2));
  EXPECT_THAT(bare.distances, IsEmpty());
  EXPECT_TRUE(std::isnan(bare[0].distance));
  const List full = tick.of("full")[0];
  EXPECT_THAT(ids_of(full), ElementsAre(2));
  EXPECT_THAT(full.positions, ElementsAre(2, 0, 0));
  EXPECT_THAT(full.tags, ElementsAre(0));
  EXPECT_TRUE(tick.of("none").empty());
  EXPECT_TRUE(engine.tick(2).empty());  // nothing has changed
}

TEST_F(CppEngine, FiltersByTagsDistanceAndAge) {
  engine.update(1, {1, 0}, 2, 1U);
  engine.update(2, {2, 0}, 2, 3U);
  engine.tick(2);
  const auto ids = [&](const Query& question) {
    std::vector<std::uint64_t> found;
    for (const auto& neighbor : engine.neighbors(question)) found.push_back(neighbor.id);
    return found;
  };
  EXPECT_THAT(ids({.k = 9}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ids({.k = 9, .tags_required = 1}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.k = 9, .tags_forbidden = 2}), ElementsAre(1, 3, 4));
  EXPECT_THAT(ids({.k = 9, .distance_max = 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({.k = 9, .age_max_us = 0}), ElementsAre(1, 2));
  EXPECT_TRUE(engine.update_tags(4, 1, 0, 3));
  EXPECT_TRUE(engine.update_tags(1, 0, 1, 3));
  engine.update(2, {2, 0}, 3);  // no tags are given, so object 2 keeps its tags
  engine.tick(3);
  EXPECT_THAT(ids({.k = 9, .tags_required = 1}), ElementsAre(2, 4));
}

TEST_F(CppEngine, GivesEveryObjectAListAndRemovesIt) {
  engine.put_query("near", {.id = 6, .k = 1, .every_object = true});
  const Result first = engine.tick(1);
  ASSERT_EQ(first.size(), 4u);
  for (const List& list : first) {
    ASSERT_TRUE(list.subject);
    EXPECT_THAT(ids_of(list), ElementsAre(*list.subject == 1 ? 2 : *list.subject - 1));
  }
  EXPECT_TRUE(engine.remove(4, 2));
  const Result second = engine.tick(2);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(second[0].is_removed);
  EXPECT_EQ(second[0].subject, 4u);
  engine.remove_query("near", 6);
  const Result third = engine.tick(3);
  ASSERT_EQ(third.size(), 1u);  // one removal for the lists of all subjects
  EXPECT_TRUE(third[0].is_removed);
  EXPECT_FALSE(third[0].subject);
  engine.remove_stream("near");
  EXPECT_THAT(refusal(STARLING_REFUSED, [&] { engine.put_query("near", {.id = 6}); }),
              HasSubstr("no stream \"near\"; put it first"));
}

TEST_F(CppEngine, TellsLateRowsAndRefusesBadOnesByName) {
  EXPECT_FALSE(engine.update(1, {50, 0}, 0));
  EXPECT_FALSE(engine.remove(1, 0));
  EXPECT_THAT(refusal(STARLING_REFUSED,
                      [&] {
                        engine.update(17, {nan, 0});
                      }),
              AllOf(HasSubstr("Row 0 (id 17) is refused: position not finite"),
                    HasSubstr("finite numbers")));
  const std::vector<std::uint64_t> ids{11, 12, 13};
  const std::vector<double> coordinates{0, 1, 1e300, 0, 0, 2};
  EXPECT_THAT(
      refusal(STARLING_REFUSED, [&] { engine.update({.ids = ids, .coordinates = coordinates}); }),
      AllOf(HasSubstr("Row 1 (id 12)"), HasSubstr("within 2^30 times resolution_m")));
  std::vector<starling_row_status> statuses(3);
  const starling_counts counts = engine.update({.ids = ids, .coordinates = coordinates}, statuses);
  EXPECT_EQ(counts.accepted, 2u);
  EXPECT_EQ(counts.rejected, 1u);
  EXPECT_THAT(statuses, ElementsAre(STARLING_ROW_ACCEPTED, STARLING_ROW_POSITION_OUT_OF_RANGE,
                                    STARLING_ROW_ACCEPTED));
  EXPECT_EQ(engine.tick().info().object_count, 6u);
}

TEST(CppEngineErrors, OnTheEarthSayWhichNumberIsWrong) {
  Engine engine(options_of(Space::wgs84));
  EXPECT_TRUE(engine.update(1, {10.75, 59.91}));
  EXPECT_THAT(refusal(STARLING_REFUSED,
                      [&] {
                        engine.update(1, {190, 59});
                      }),
              HasSubstr("longitude comes first, and is -180 to 180"));
  EXPECT_THAT(refusal(STARLING_REFUSED,
                      [&] {
                        engine.update(1, {59, 100});
                      }),
              HasSubstr("latitude comes second, and is -90 to 90"));
}

TEST_F(CppEngine, RefusesArgumentsBySentencesThatNameThem) {
  const std::vector<std::uint64_t> ids{1, 2};
  const std::vector<double> three(3);
  const std::vector<double> four(4);
  const std::vector<std::uint32_t> one_tag(1);
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT,
                      [&] { engine.update({.ids = ids, .coordinates = three}); }),
              HasSubstr("2 ids have 3 coordinates"));
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT,
                      [&] { engine.update({.ids = ids, .coordinates = four, .tags = one_tag}); }),
              HasSubstr("tags has 1 entries for 2 ids"));
  EXPECT_THAT(refusal(STARLING_REFUSED, [&] { engine.put_query("near", {.k = 0}); }),
              HasSubstr("Query 0"));
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT,
                      [&] { engine.neighbors({.follow = 1, .every_object = true}); }),
              HasSubstr("Query 0 follows an object and is for every object; choose one"));
  engine.tick(10);
  EXPECT_THAT(refusal(STARLING_REFUSED, [&] { engine.tick(9); }),
              HasSubstr("tau_us is 9, but the last tick's was 10"));
  EXPECT_THAT(refusal(STARLING_REFUSED, [&] { engine.neighbors({.follow = 99}); }),
              HasSubstr("no object 99"));
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT,
                      [&] { Engine wrong({.space = Space::planar2, .dimension = 3}); }),
              HasSubstr("dimension"));
}

TEST(CppEngineErrors, NameTheLimitThatWasReached) {
  EngineOptions options = options_of(Space::planar2);
  options.objects_max = 2;
  Engine engine(options);
  engine.update(1, {0, 0});
  engine.update(2, {0, 0});
  EXPECT_THAT(refusal(STARLING_REFUSED,
                      [&] {
                        engine.update(3, {0, 0});
                      }),
              HasSubstr("Raise EngineOptions::objects_max"));
}

TEST_F(CppEngine, TicksWithoutATimeNeverGoBack) {
  const std::int64_t tomorrow_us = now_us() + std::int64_t{86'400} * 1'000'000;
  engine.tick(tomorrow_us);
  EXPECT_EQ(engine.tick().info().tau_us, tomorrow_us);
}

TEST_F(CppEngine, TakesRowsOfTheNextTickWhileOneIsUnderWay) {
  engine.put_query("near", {.id = 1, .k = 1});
  engine.begin_tick(5);
  engine.update(9, {0.5, 0}, 5);
  EXPECT_THAT(refusal(STARLING_REFUSED, [&] { engine.begin_tick(6); }), HasSubstr("under way"));
  const Result first = engine.finish_tick();
  EXPECT_THAT(ids_of(first[0]), ElementsAre(1));
  const Result second = engine.tick(6);
  EXPECT_THAT(ids_of(second[0]), ElementsAre(9));
  EXPECT_THAT(ids_of(first[0]), ElementsAre(1));  // a result outlives the next tick
}

TEST(CppEngineOfVectors, VotesAndMeans) {
  EngineOptions options = options_of(Space::vector);
  options.dimension = 2;
  options.metric = Metric::cosine;
  Engine engine(options);
  const std::vector<std::uint64_t> ids{11, 12, 13};
  const std::vector<float> components{2, 2, 0, 3, 2, 1};
  const std::vector<std::int64_t> labels{7, 8, 7};
  const std::vector<double> values{1, 2, 6};
  engine.update({.ids = ids, .coordinates_f32 = components, .labels = labels, .values = values});
  const std::array<float, 2> at{1, 0};
  engine.put_stream("songs");
  engine.put_query("songs", {.k = 3, .vector = at, .vote = true, .regress = Weights::uniform});
  engine.tick();
  EXPECT_TRUE(engine.update(12, at));
  const Result tick = engine.tick();
  ASSERT_EQ(tick.size(), 1u);
  EXPECT_THAT(ids_of(tick[0]), ElementsAre(12, 13, 11));
  EXPECT_EQ(tick[0].vote, 7);
  EXPECT_EQ(tick[0].mean, 3.0);
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT,
                      [&] {
                        engine.update(1, {1, 2});
                      }),
              HasSubstr("span of float32"));
  EXPECT_THAT(refusal(STARLING_INVALID_ARGUMENT,
                      [&] {
                        engine.neighbors({.at = {1, 2}});
                      }),
              HasSubstr("0 components in `vector`; the space has 2"));
}

TEST_F(CppEngine, ThatWasMovedFromIsRefused) {
  const Engine taken = std::move(engine);
  EXPECT_NE(refusal(STARLING_BAD_HANDLE, [&] { engine.tick(); }), "");
}

TEST(CppEngineBesideOwnHeaders, IsAnotherClassThanTheirs) {
  EXPECT_THAT(nearest_by_own_headers({7, 3, 5}), ElementsAre(7, 3, 5));
  Engine engine(options_of(Space::planar2));
  engine.update(7, {1, 0});
  engine.tick();
  EXPECT_EQ(engine.neighbors({.k = 2}).size(), 1u);
}

// A list that is taken from a temporary result would point to freed memory, so it must not compile.
template <class Lists>
concept gives_lists = requires(Lists lists) {
  std::forward<Lists>(lists)[0];
};
static_assert(gives_lists<Result&>);
static_assert(!gives_lists<Result>);

static_assert(std::ranges::forward_range<Result>);
static_assert(std::ranges::sized_range<Result>);
static_assert(std::ranges::forward_range<Lists>);
static_assert(std::ranges::forward_range<List>);

}  // namespace
}  // namespace starling::test
