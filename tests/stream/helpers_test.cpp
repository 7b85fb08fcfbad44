// Every piece of work is done once, however many threads share it: stream/helpers.
#include "stream/helpers.hpp"

#include <atomic>
#include <latch>
#include <vector>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

class HelpersTest : public testing::TestWithParam<unsigned> {};

TEST_P(HelpersTest, EachPieceIsDoneOnceBeforeRunReturns) {
  Helpers helpers(GetParam());
  for (const std::size_t count : {0u, 1u, 2u, 3u, 100u, 5000u}) {
    std::vector<std::atomic<int>> times(count);
    helpers.run(count, [&](std::size_t piece) { ++times[piece]; });
    for (std::size_t piece = 0; piece < count; ++piece) ASSERT_EQ(times[piece], 1) << piece;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, HelpersTest, testing::Values(0u, 1u, 3u));

TEST(Helpers, SharePiecesWithTheCaller) {
  Helpers helpers(1);
  std::latch both(2);
  helpers.run(2, [&](std::size_t) { both.arrive_and_wait(); });
}

}  // namespace
}  // namespace starling::stream
