// SPDX-License-Identifier: Apache-2.0
// Tests that the room for requests is divided by owners, and that who waits for room gets it.
#include "starling/stream/sockets/receive_budget.hpp"

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "starling/stream/zmtp/listener.hpp"

namespace starling::stream {
namespace {

class ReceiveBudgetTest : public testing::Test {
 protected:
  std::shared_ptr<zmtp::Link> connect(const std::string& address) {
    return std::make_shared<zmtp::Link>(++last_number, address_of(address), lane);
  }
  /// Takes room of `bytes` until there is none, and returns how much it took.
  std::size_t fill(const std::shared_ptr<zmtp::Link>& link, std::size_t bytes) {
    std::size_t taken = 0;
    while (budget.take(link, bytes, false)) taken += bytes;
    return taken;
  }

  boost::asio::io_context loop;
  zmtp::Lane lane{0, loop};
  std::uint64_t last_number = 0;
  std::vector<std::uint64_t> granted;
  ReceiveBudget budget{1000, [this](const auto& link) { granted.push_back(link->number); }};
};

TEST_F(ReceiveBudgetTest, OneOwnerLeavesAsMuchFreeAsItHas) {
  EXPECT_EQ(fill(connect("10.0.0.1"), 10), 500u);
}

TEST_F(ReceiveBudgetTest, ManyConnectionsOfAnAddressGetNoMoreThanOne) {
  std::size_t taken = 0;
  for (int count = 0; count < 20; ++count) taken += fill(connect("10.0.0.1"), 10);
  EXPECT_EQ(taken, 500u);
}

TEST_F(ReceiveBudgetTest, ManyOwnersThatTakeAllTheyCanLeaveRoomForOneMore) {
  for (int number = 1; number < 9; ++number) fill(connect("10.0.0." + std::to_string(number)), 1);
  EXPECT_TRUE(budget.take(connect("10.0.1.1"), 3, false));
  EXPECT_TRUE(budget.has_waiting());
}

TEST_F(ReceiveBudgetTest, AnOwnerWithoutRoomGetsOneRequestOfAnySizeThatFits) {
  ASSERT_TRUE(budget.take(connect("10.0.0.1"), 100, false));
  EXPECT_TRUE(budget.take(connect("10.0.0.2"), 900, false));
  EXPECT_FALSE(budget.take(connect("10.0.0.3"), 1, false));
  EXPECT_TRUE(budget.take(connect("10.0.0.3"), 1, true)) << "a short request overdraws";
}

TEST_F(ReceiveBudgetTest, WhoWaitsIsGrantedRoomWhenItFits) {
  const auto first = connect("10.0.0.1");
  const auto second = connect("10.0.0.2");
  ASSERT_TRUE(budget.take(first, 900, false));
  ASSERT_FALSE(budget.take(second, 300, false));
  budget.give_back(first, 100);
  EXPECT_TRUE(granted.empty());
  budget.give_back(first, 200);
  EXPECT_EQ(granted, (std::vector<std::uint64_t>{2}));
  EXPECT_FALSE(budget.has_waiting());
  EXPECT_TRUE(budget.take(second, 300, false)) << "the room that was granted";
  EXPECT_FALSE(budget.take(first, 300, false));
}

TEST_F(ReceiveBudgetTest, AConnectionThatEndsGivesItsGrantToTheNextOne) {
  const auto first = connect("10.0.0.1");
  const auto second = connect("10.0.0.2");
  const auto third = connect("10.0.0.3");
  ASSERT_TRUE(budget.take(first, 900, false));
  ASSERT_FALSE(budget.take(second, 800, false));
  ASSERT_FALSE(budget.take(third, 800, false));
  budget.give_back(first, 900);
  ASSERT_EQ(granted, (std::vector<std::uint64_t>{2}));
  budget.forget(second);
  EXPECT_EQ(granted, (std::vector<std::uint64_t>{2, 3}));
  budget.forget(third);
  EXPECT_FALSE(budget.has_waiting());
  EXPECT_TRUE(budget.take(first, 1000, false)) << "all room is free again";
}

}  // namespace
}  // namespace starling::stream
