// SPDX-License-Identifier: Apache-2.0
// Uses one handle from two threads. One call at a time is let in; the other call is refused and
// changes nothing. No thread sleeps: each repeats its calls until a call was refused.
#include <atomic>
#include <barrier>
#include <thread>

#include "tests/c/calls.hpp"

namespace starling::c_test {
namespace {

/// Calls `call` from two threads at once until a call of one thread was refused. Each call must
/// return STARLING_OK or STARLING_IN_USE.
template <class Call>
void expect_one_is_refused(Call call) {
  std::atomic<bool> is_seen = false;
  std::barrier start(2);
  const auto repeat = [&] {
    start.arrive_and_wait();
    while (!is_seen) {
      const starling_code code = call();
      if (code == STARLING_IN_USE)
        is_seen = true;
      else
        EXPECT_FINE(code);
      if (code != STARLING_OK && code != STARLING_IN_USE) is_seen = true;
    }
  };
  std::thread other(repeat);
  repeat();
  other.join();
}

TEST(TwoThreads, InOneIndexAreToldApart) {
  constexpr std::uint64_t rows = 20'000;
  constexpr std::uint32_t dimension = 16;
  std::vector<float> points(rows * dimension);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = static_cast<float>(i * 7919 % 1000);
  const auto options = index_options();
  starling_index* index = nullptr;
  EXPECT_FINE(starling_index_create(&options, points.data(), rows, dimension, &index));
  expect_one_is_refused([&] {
    std::uint32_t nearest[64];
    return starling_index_search(index, points.data(), 64, 1, STARLING_NOT_A_ROW, nearest, nullptr);
  });
  EXPECT_FINE(starling_index_destroy(index));
}

TEST(TwoThreads, InOneEngineAreToldApart) {
  const auto options = engine_options();
  starling_engine* engine = nullptr;
  EXPECT_FINE(starling_engine_create(&options, &engine));
  std::vector<std::uint64_t> ids(20'000);
  std::vector<double> coordinates(2 * ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = static_cast<double>(i * 7919 % 1000);
  expect_one_is_refused([&] {
    auto rows = sized<starling_rows>();
    rows.count = ids.size();
    rows.ids = ids.data();
    rows.time_us = 1;
    rows.coordinates = coordinates.data();
    rows.components = 2;
    return starling_engine_update(engine, &rows, INT64_MAX, nullptr, nullptr);
  });
  starling_result* result = nullptr;
  EXPECT_FINE(starling_engine_tick(engine, 1, &result));
  auto info = sized<starling_tick_info>();
  EXPECT_FINE(starling_result_info(result, &info));
  EXPECT_EQ(info.object_count, ids.size());
  EXPECT_FINE(starling_result_destroy(result));
  EXPECT_FINE(starling_engine_destroy(engine));
}

TEST(TwoThreads, DestroyAHandleOnce) {
  for (int i = 0; i < 200; ++i) {
    const auto options = index_options();
    const float point[1] = {1};
    starling_index* index = nullptr;
    EXPECT_FINE(starling_index_create(&options, point, 1, 1, &index));
    std::atomic<int> destroyed = 0;
    std::barrier start(2);
    const auto destroy = [&] {
      start.arrive_and_wait();
      const starling_code code = starling_index_destroy(index);
      if (code == STARLING_OK) ++destroyed;
      EXPECT_TRUE(code == STARLING_OK || code == STARLING_BAD_HANDLE) << code;
    };
    std::thread other(destroy);
    destroy();
    other.join();
    EXPECT_EQ(destroyed, 1);
  }
}

TEST(TwoThreads, HaveAnErrorEach) {
  std::thread([] {
    EXPECT_REFUSED(STARLING_INVALID_ARGUMENT, starling_last_error(nullptr));
  }).join();
  std::thread([] {
    EXPECT_EQ(last_error().code, STARLING_OK) << "no call of this thread has failed";
    EXPECT_STREQ(last_error().sentence, "");
  }).join();
}

}  // namespace
}  // namespace starling::c_test
