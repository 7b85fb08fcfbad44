// SPDX-License-Identifier: Apache-2.0
// Tests that EncodeHelpers does every piece of work exactly once, with any number of threads.
#include "starling/stream/pools/encode_helpers.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

class HelpersTest : public testing::TestWithParam<unsigned> {};

TEST_P(HelpersTest, EachPieceIsDoneOnceBeforeRunReturns) {
  EncodeHelpers helpers(GetParam());
  for (const std::size_t count : {0u, 1u, 2u, 3u, 100u, 5000u}) {
    std::vector<std::atomic<int>> times(count);
    helpers.run(count, [&](std::size_t piece) { ++times[piece]; });
    for (std::size_t piece = 0; piece < count; ++piece) ASSERT_EQ(times[piece], 1) << piece;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, HelpersTest, testing::Values(0u, 1u, 3u));

TEST(Helpers, SharePiecesWithTheCaller) {
  EncodeHelpers helpers(1);
  std::latch both(2);
  std::atomic<int> met{0};
  helpers.run(2, [&](std::size_t) {
    both.count_down();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!both.try_wait() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    met += both.try_wait() ? 1 : 0;
  });
  EXPECT_EQ(met, 2);
}

TEST_P(HelpersTest, WhatAPieceThrowsIsThrownWhenAllHaveReturned) {
  EncodeHelpers helpers(GetParam());
  std::atomic<int> done{0};
  const auto work = [&](std::size_t piece) {
    ++done;
    if (piece == 3) throw std::bad_alloc();
  };
  EXPECT_THROW(helpers.run(10, work), std::bad_alloc);
  EXPECT_EQ(done, 10);
}

}  // namespace
}  // namespace starling::stream
