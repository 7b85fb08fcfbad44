// SPDX-License-Identifier: Apache-2.0
// Makes engines of the C interface with options that no program should pass, and with limits and
// times at the edges of what is allowed.
#include <limits>

#include "tests/c/calls.hpp"

namespace starling::c_test {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();

TEST(HostileEngineOptions, AreRefusedWithTheirNames) {
  const auto expect_refused_options = [](auto change) {
    auto options = engine_options();
    change(options);
    starling_engine* engine = not_a_handle<starling_engine>();
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_engine_create(&options, &engine));
    EXPECT_EQ(engine, nullptr);
    if (engine != nullptr) starling_engine_destroy(engine);
  };
  using Options = starling_engine_options;
  for (const std::int32_t value : {-1, 9, 1 << 30}) {
    expect_refused_options([&](Options& options) { options.space = value; });
    expect_refused_options([&](Options& options) { options.metric = value; });
    expect_refused_options([&](Options& options) { options.backend = value; });
  }
  for (const double value : {nan, infinite, 0.0, -1.0})
    expect_refused_options([&](Options& options) { options.resolution_m = value; });
  for (const double value : {nan, infinite})
    expect_refused_options([&](Options& options) { options.origin[1] = value; });
  expect_refused_options([](Options& options) { options.dimension = 1; });
  for (const std::uint32_t value : {0U, 4097U, UINT32_MAX})
    expect_refused_options([&](Options& options) {
      options.space = STARLING_VECTOR;
      options.dimension = value;
    });
  expect_refused_options([](Options& options) { options.threads = 1025; });
  for (const std::uint32_t value : {0U, 1025U, UINT32_MAX})
    expect_refused_options([&](Options& options) { options.update_threads = value; });
  for (const std::uint64_t value : {huge, UINT64_C(1) << 40}) {
    expect_refused_options([&](Options& options) { options.objects_max = value; });
    expect_refused_options([&](Options& options) { options.queries_max = value; });
    expect_refused_options([&](Options& options) { options.neighbors_max = value; });
  }
  for (const std::int64_t value : {INT64_C(0), INT64_C(-1), lowest})
    expect_refused_options([&](Options& options) { options.object_ttl_us = value; });
  expect_refused_options([](Options& options) { options.tombstone_ttl_us = -1; });
}

TEST(HostileEngineOptions, MayHaveNoRoomAtAll) {
  auto options = engine_options();
  options.objects_max = options.queries_max = 0;
  starling_engine* engine = nullptr;
  EXPECT_FINE(starling_engine_create(&options, &engine));
  const std::uint64_t id = 1;
  const double place[] = {0, 0};
  auto rows = sized<starling_rows>();
  rows.count = 1;
  rows.ids = &id;
  rows.coordinates = place;
  rows.components = 2;
  starling_row_status status = STARLING_ROW_ACCEPTED;
  EXPECT_FINE(starling_engine_update(engine, &rows, forever, &status, nullptr));
  EXPECT_EQ(status, STARLING_ROW_TOO_MANY_OBJECTS);
  const auto riders = stream("riders");
  EXPECT_FINE(starling_engine_put_stream(engine, &riders));
  const auto nearest = query(1, 1);
  EXPECT_FINE(starling_engine_put_queries(engine, "riders", &nearest, 1, &status, nullptr));
  EXPECT_EQ(status, STARLING_ROW_TOO_MANY_QUERIES);
  starling_result* result = nullptr;
  EXPECT_FINE(starling_engine_neighbors(engine, &nearest, 1, &result)) << "before the first tick";
  EXPECT_FINE(starling_result_destroy(result));
  EXPECT_FINE(starling_engine_begin_tick(engine, -5));
  EXPECT_FINE(starling_engine_destroy(engine)) << "while a tick is under way";
}

TEST(HostileEngineOptions, TakeTimesAtTheEdges) {
  auto options = engine_options();
  options.tombstone_ttl_us = forever;
  options.object_ttl_us = 1;
  starling_engine* engine = nullptr;
  EXPECT_FINE(starling_engine_create(&options, &engine));
  const auto riders = stream("riders");
  EXPECT_FINE(starling_engine_put_stream(engine, &riders));
  const std::uint64_t ids[] = {1, 2};
  const std::int64_t edges_us[] = {-(INT64_C(1) << 61), INT64_C(1) << 61};
  const double places[] = {0, 0, 1, 1};
  auto rows = sized<starling_rows>();
  rows.count = 2;
  rows.ids = ids;
  rows.times_us = edges_us;
  rows.coordinates = places;
  rows.components = 2;
  EXPECT_FINE(starling_engine_update(engine, &rows, forever, nullptr, nullptr));
  for (const std::int64_t tau_us : edges_us) {
    starling_result* result = nullptr;
    EXPECT_FINE(starling_engine_tick(engine, tau_us, &result));
    EXPECT_FINE(starling_result_destroy(result));
    auto leased = query(1, 1);
    leased.lease_us = forever;
    EXPECT_FINE(starling_engine_put_queries(engine, "riders", &leased, 1, nullptr, nullptr));
    EXPECT_FINE(starling_engine_remove_objects(engine, 2, ids, edges_us, nullptr, nullptr));
  }
  EXPECT_FINE(starling_engine_destroy(engine));
}

TEST(HostileEngineOptions, ALeaseBeforeTheFirstTickIsRefused) {
  const auto options = engine_options();
  starling_engine* engine = nullptr;
  EXPECT_FINE(starling_engine_create(&options, &engine));
  const auto riders = stream("riders");
  EXPECT_FINE(starling_engine_put_stream(engine, &riders));
  auto leased = query(1, 1);
  leased.lease_us = 1;
  EXPECT_REFUSED(STARLING_REFUSED,
                 starling_engine_put_queries(engine, "riders", &leased, 1, nullptr, nullptr));
  EXPECT_FINE(starling_engine_destroy(engine));
}

TEST(HostileTexts, OfUnknownStatusesAndNoTextAreAnswered) {
  EXPECT_STREQ(starling_row_status_text(STARLING_ROW_LATE), "late");
  EXPECT_STREQ(starling_row_status_text(255), "unknown status");
  EXPECT_EQ(starling_text_id(nullptr), 0U);
  EXPECT_EQ(starling_text_id("42"), 42U);
  EXPECT_STRNE(starling_version(), "");
}

}  // namespace
}  // namespace starling::c_test
