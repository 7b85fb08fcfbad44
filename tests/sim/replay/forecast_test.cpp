// SPDX-License-Identifier: Apache-2.0
// Compares the ticks and lists of a forecast with a count, and tests which rows count as far.
#include "starling/sim/replay/forecast.hpp"

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "starling/sim/replay/replay.hpp"

namespace starling::sim {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t hour_us = 3600 * second_us;

TraceRow row_at(std::uint64_t id, std::int64_t time_us) {
  return {ObjectId{id}, time_us, {}, 0, false};
}

/// Adds 10,000 rows of 100 objects, a second apart.
void add_regular_rows(Forecast& forecast, std::int64_t begin_us) {
  for (std::int64_t i = 0; i < 10'000; ++i)
    forecast.add(row_at(static_cast<std::uint64_t>(i % 100), begin_us + i * second_us));
}

TEST(Forecast, CountsTicksAndListsAsTheReplayHasThem) {
  constexpr unsigned seed = 20261124;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const std::int64_t period_us : {1, 7, 1000, 100'000}) {
    Forecast forecast(period_us, false);
    std::map<std::uint64_t, std::int64_t> first_us;
    std::set<std::int64_t> with_rows;
    for (int i = 0; i < 3000; ++i) {
      const TraceRow each =
          row_at(random() % 50, static_cast<std::int64_t>(random() % 5000) - 2500);
      forecast.add(each);
      const auto [first, is_new] = first_us.try_emplace(to_number(each.id), each.time_us);
      if (!is_new) first->second = std::min(first->second, each.time_us);
      with_rows.insert(first_tick_us(each.time_us, period_us));
    }
    EXPECT_EQ(forecast.start_us(), *with_rows.begin());
    EXPECT_EQ(forecast.end_us(), *with_rows.rbegin());
    std::uint64_t ticks = 0;
    std::uint64_t lists = 0;
    for (std::int64_t tau_us = forecast.start_us(); tau_us <= forecast.end_us();
         tau_us += period_us) {
      ++ticks;
      for (const auto& [id, time_us] : first_us) lists += time_us <= tau_us ? 1 : 0;
    }
    EXPECT_EQ(forecast.ticks(), ticks);
    EXPECT_EQ(forecast.lists_of_objects(), lists);
    EXPECT_EQ(forecast.ticks_with_rows_max(), with_rows.size());
    EXPECT_EQ(forecast.objects(), first_us.size());
    EXPECT_THAT(forecast.far_rows(), testing::IsEmpty());
  }
}

TEST(Forecast, InFileOrderTheClockStartsAtTheFirstRow) {
  Forecast forecast(10, true);
  for (const std::int64_t time_us : {25, 5, 41}) forecast.add(row_at(1, time_us));
  EXPECT_EQ(forecast.start_us(), 30);
  EXPECT_EQ(forecast.end_us(), 50);
  EXPECT_EQ(forecast.ticks(), 3u);
}

TEST(Forecast, LongTracesAreCountedInBoundedMemoryAndNeverTooLow) {
  Forecast forecast(1, false);
  constexpr std::uint64_t rows = 100'000;
  for (std::uint64_t i = 0; i < rows; ++i)
    forecast.add(row_at(i % 10, static_cast<std::int64_t>(i) * 1000));
  EXPECT_GE(forecast.ticks_with_rows_max(), rows);
  EXPECT_LE(forecast.ticks_with_rows_max(), forecast.ticks());
}

TEST(Forecast, FindsRowsFarAfterTheOthers) {
  Forecast forecast(second_us, false);
  add_regular_rows(forecast, 0);
  forecast.add(row_at(7, 20 * hour_us));
  forecast.add(row_at(8, 24 * hour_us));
  const std::vector<FarRows> far = forecast.far_rows();
  ASSERT_EQ(far.size(), 1u);
  EXPECT_TRUE(far[0].is_after);
  EXPECT_EQ(far[0].rows, 2u);
  EXPECT_EQ(far[0].oldest_us, 20 * hour_us);
  EXPECT_EQ(far[0].newest_us, 24 * hour_us);
  EXPECT_EQ(far[0].others_end_us, 9'999 * second_us);
  EXPECT_EQ(far[0].ticks, 86'400u - 9'999u);
}

TEST(Forecast, FindsRowsAtBothEnds) {
  constexpr std::int64_t begin_us = 1'640'995'200 * second_us;
  for (const std::int64_t before_us : {std::int64_t{0}, begin_us - 10 * hour_us}) {
    Forecast forecast(second_us, false);
    add_regular_rows(forecast, begin_us);
    forecast.add(row_at(7, before_us));
    forecast.add(row_at(8, begin_us + 24 * hour_us));
    const std::vector<FarRows> far = forecast.far_rows();
    ASSERT_EQ(far.size(), 2u);
    EXPECT_FALSE(far[0].is_after);
    EXPECT_EQ(far[0].rows, 1u);
    EXPECT_EQ(far[0].newest_us, before_us);
    EXPECT_EQ(far[0].others_end_us, begin_us);
    EXPECT_TRUE(far[1].is_after);
    EXPECT_EQ(far[1].rows, 1u);
    EXPECT_EQ(far[1].others_end_us, begin_us + 9'999 * second_us);
  }
}

TEST(Forecast, ManyRowsOrAShortGapAreNotFar) {
  Forecast many(second_us, false);
  add_regular_rows(many, 0);
  for (std::uint64_t i = 0; i < 200; ++i) many.add(row_at(i, 24 * hour_us));
  EXPECT_THAT(many.far_rows(), testing::IsEmpty()) << "200 of 10,200 rows are more than 1 %";
  Forecast near(second_us, false);
  add_regular_rows(near, 0);
  near.add(row_at(1, 2 * 9'998 * second_us));
  EXPECT_THAT(near.far_rows(), testing::IsEmpty());
  Forecast one(second_us, false);
  one.add(row_at(1, 5));
  EXPECT_THAT(one.far_rows(), testing::IsEmpty());
  EXPECT_EQ(one.ticks(), 1u);
}

}  // namespace
}  // namespace starling::sim
