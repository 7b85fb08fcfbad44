// SPDX-License-Identifier: Apache-2.0
// Tests whose turn it is to be read.
#include "starling/stream/turns/read_turns.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "starling/knn/base/clocks.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t turn_us = 200;

/// A connection whose turn takes turn_us, and that has bytes for `turns` turns.
struct FakeReader final : Reader {
  FakeReader(std::uint64_t the_owner, std::uint64_t the_number, int the_turns,
             std::vector<std::uint64_t>& the_order)
      : owner(the_owner), number(the_number), turns(the_turns), order(the_order) {}
  Payer reads_for() const override {
    return {{.kind = RequestOwner::Kind::principal, .number = owner}, number};
  }
  bool take_read_turn() override {
    for (const std::int64_t until_us = steady_now_us() + turn_us; steady_now_us() < until_us;) {
    }
    order.push_back(number);
    return --turns > 0;
  }
  std::uint64_t owner;
  std::uint64_t number;
  int turns;
  std::vector<std::uint64_t>& order;
};

class ReadTurnsTest : public testing::Test {
 protected:
  std::shared_ptr<FakeReader> add(std::uint64_t owner, std::uint64_t number, int turns) {
    auto reader = std::make_shared<FakeReader>(owner, number, turns, order);
    reads->add(reader);
    return reader;
  }

  boost::asio::io_context loop;
  std::shared_ptr<ReadTurns> reads = std::make_shared<ReadTurns>(loop);
  std::vector<std::uint64_t> order;  ///< the readers that had turns
};

TEST_F(ReadTurnsTest, AReaderWaitsForOneTurnOfAnotherOwnerHoweverManyConnectionsThatHas) {
  for (std::uint64_t number = 1; number <= 100; ++number) add(1, number, 50);
  for (int count = 0; count < 200; ++count) loop.poll_one();
  order.clear();
  add(2, 1000, 1);
  for (int count = 0; count < 2; ++count) loop.poll_one();
  EXPECT_EQ(std::ranges::count(order, 1000U), 1);
}

TEST_F(ReadTurnsTest, ALoneReaderHasItsTurnAtOnce) {
  add(1, 1, 1);
  EXPECT_EQ(order, std::vector<std::uint64_t>{1});
  EXPECT_EQ(loop.poll(), 0U);
}

TEST_F(ReadTurnsTest, AReaderHasTurnsUntilItHasNothingMoreToRead) {
  const auto reader = add(1, 1, 5);
  loop.run();
  EXPECT_EQ(reader->turns, 0);
  EXPECT_EQ(order.size(), 5U);
}

TEST_F(ReadTurnsTest, TurnsOfAReaderOutliveTheObject) {
  const auto reader = add(1, 1, 3);
  reads.reset();
  loop.run();
  EXPECT_EQ(reader->turns, 0);
}

}  // namespace
}  // namespace starling::stream
