// SPDX-License-Identifier: Apache-2.0
// Tests that FairQueue gives turns by cost: first between owners, then between the connections of
// one.
#include "starling/stream/turns/fair_queue.hpp"

#include <limits>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

class FairQueueTest : public testing::Test {
 protected:
  static Payer payer(std::uint64_t owner, std::uint64_t connection = 0) {
    return {{RequestOwner::Kind::principal, owner}, connection};
  }
  /// Adds an item that costs `cost_us`.
  void push(std::uint64_t owner, std::int64_t cost_us, std::uint64_t connection = 0) {
    queue.push(payer(owner, connection), cost_us);
  }
  void serve(int count = 1) {
    for (int i = 0; i < count && queue.is_ready(); ++i)
      queue.serve_next(
          [&](const Payer& served, std::int64_t& cost_us) -> std::optional<std::int64_t> {
            if (served.owner.number == blocked || is_room_for == 0) return std::nullopt;
            --is_room_for;
            owners += std::to_string(served.owner.number);
            connections += std::to_string(served.connection);
            used_us[served] += cost_us;
            return cost_us;
          });
  }

  FairQueue<std::int64_t> queue;
  std::uint64_t blocked = 99;
  int is_room_for = std::numeric_limits<int>::max();
  std::string owners;       ///< the owners that were served, in their order
  std::string connections;  ///< their connections
  std::map<Payer, std::int64_t> used_us;
};

TEST_F(FairQueueTest, OneItemOfAnotherOwnerWaitsForOneTurnHoweverManyWait) {
  for (int count = 0; count < 1000; ++count) push(1, 10);
  serve(5);
  push(2, 10);
  serve(2);
  EXPECT_NE(owners.substr(5).find('2'), std::string::npos) << owners;
}

TEST_F(FairQueueTest, CostsAreSharedAndNotTurns) {
  for (int count = 0; count < 100; ++count) {
    push(1, 1000);
    push(2, 10);
  }
  serve(101);
  EXPECT_EQ(used_us[payer(1)], 1000);
  EXPECT_EQ(used_us[payer(2)], 1000);
}

TEST_F(FairQueueTest, ManyConnectionsOfAnOwnerGetNoMoreThanOneOfAnother) {
  for (int count = 0; count < 100; ++count) {
    for (std::uint64_t connection = 1; connection < 9; ++connection) push(1, 10, connection);
    push(2, 10);
  }
  serve(100);
  EXPECT_EQ(used_us[payer(2)], 500);
}

TEST_F(FairQueueTest, ConnectionsOfAnOwnerShareWhatItGets) {
  for (int count = 0; count < 100; ++count) push(1, 10, 1);
  serve(10);
  push(1, 10, 2);
  connections.clear();
  serve(2);
  EXPECT_NE(connections.find('2'), std::string::npos);
}

TEST_F(FairQueueTest, AnOwnerSavesUpALittleWhileItIsAway) {
  push(2, 10);
  serve();
  for (int count = 0; count < 1000; ++count) push(1, 1000);
  serve(500);
  for (int count = 0; count < 1000; ++count) push(2, 1000);
  used_us.clear();
  serve(300);
  EXPECT_NEAR(static_cast<double>(used_us[payer(2)] - used_us[payer(1)]), 30'000, 2000);
}

TEST_F(FairQueueTest, ANewOwnerHasSavedNothingUp) {
  for (int count = 0; count < 1000; ++count) push(1, 100);
  serve(500);
  for (int count = 0; count < 1000; ++count) push(2, 100);
  used_us.clear();
  serve(300);
  EXPECT_EQ(used_us[payer(1)], used_us[payer(2)]);
}

TEST_F(FairQueueTest, WhoUsesLittlePassesAllWhoWaitForEachOther) {
  push(1, 10);
  serve();
  for (std::uint64_t owner = 2; owner < 9; ++owner)
    for (int count = 0; count < 1000; ++count) push(owner, 100);
  serve(700);
  for (int count = 0; count < 50; ++count) {
    push(1, 10);
    owners.clear();
    serve(1);
    EXPECT_EQ(owners, "1");
    serve(7);
  }
}

TEST_F(FairQueueTest, OwnersThatAreBlockedKeepTheirPlaces) {
  for (int count = 0; count < 2000; ++count) push(1, 1000);
  for (int count = 0; count < 20; ++count) push(2, 100'000);
  // Each time there is room for one item, and then both owners are blocked until the next time.
  for (int count = 0; count < 1000; ++count) {
    is_room_for = 1;
    queue.release();
    serve(3);
  }
  EXPECT_NEAR(static_cast<double>(used_us[payer(1)] - used_us[payer(2)]), 0, 100'000);
  EXPECT_GT(used_us[payer(1)], 900'000);
}

TEST_F(FairQueueTest, WhatIsChargedLaterCounts) {
  for (int count = 0; count < 10; ++count) {
    push(1, 10);
    push(2, 10);
  }
  serve(2);
  queue.charge(payer(1), 50);
  owners.clear();
  serve(5);
  EXPECT_EQ(owners, "22222");
  queue.charge(payer(1), -50);
  owners.clear();
  serve(2);
  EXPECT_EQ(owners, "11") << "and what was charged too much comes back";
}

TEST_F(FairQueueTest, AnItemThatCannotBeServedKeepsItsPlaceAndHoldsNobodyElse) {
  push(1, 10);
  push(1, 20);
  push(2, 10);
  blocked = 1;
  serve(3);
  EXPECT_EQ(owners, "2");
  EXPECT_FALSE(queue.is_ready());
  EXPECT_EQ(queue.size(), 2u);
  blocked = 99;
  serve();
  EXPECT_EQ(owners, "2") << "it waits until release()";
  queue.release();
  serve(2);
  EXPECT_EQ(owners, "211");
  EXPECT_EQ(used_us[payer(1)], 30);
}

TEST_F(FairQueueTest, ATurnHasSeveralItemsOfOneConnectionUntilTheyHaveCostEnough) {
  FairQueue<std::int64_t> longer({.items = 3, .us = 100});
  std::string order;
  for (int count = 0; count < 6; ++count)
    for (const std::uint64_t owner : {1u, 2u}) longer.push(payer(owner), owner == 1 ? 10 : 60);
  while (longer.is_ready())
    longer.serve_next(
        [&](const Payer& served, std::int64_t& cost_us) -> std::optional<std::int64_t> {
          order += std::to_string(served.owner.number);
          return cost_us;
        });
  EXPECT_EQ(order, "111221112222") << "two of 60 us end a turn, and three of 10 us";
}

TEST_F(FairQueueTest, AnItemThatIsAddedInATurnHasItsOwnTurn) {
  push(1, 10);
  queue.serve_next([&](const Payer& served, std::int64_t& cost_us) -> std::optional<std::int64_t> {
    queue.push(served, cost_us);
    return cost_us;
  });
  EXPECT_EQ(queue.size(), 1u);
  serve(2);
  EXPECT_EQ(owners, "1");
}

TEST_F(FairQueueTest, TheOwnerWithTheMostItemsLosesItsLastOne) {
  for (int count = 0; count < 3; ++count) push(1, 10 + count);
  push(2, 10);
  const auto size = [](const RequestOwner&, std::size_t items) { return items; };
  EXPECT_EQ(queue.take_last_of_largest(size, 2), 12);
  EXPECT_EQ(queue.take_last_of_largest(size, 2), std::nullopt);
  serve(9);
  EXPECT_EQ(owners.size(), 3u);
}

TEST_F(FairQueueTest, ABlockedOwnerThatLostItsItemsMayBeForgottenBeforeTheRelease) {
  push(1, 10);
  blocked = 1;
  serve();
  queue.take_last_of_largest([](const RequestOwner&, std::size_t size) { return size; }, 0);
  EXPECT_EQ(queue.size(), 0u);
  for (int turns = 0; turns < 20'000; ++turns) {  // accounts are swept within these
    push(2, 10);
    serve();
  }
  blocked = 99;
  queue.release();
  push(1, 10);
  serve();
  EXPECT_EQ(owners.back(), '1');
}

/// Owners ask for different shares of one second, at random. Each gets what it asks for, or as much
/// as the one that gets the most, less one item.
TEST_F(FairQueueTest, SharesAreMaxMinFair) {
  test::Random random(7);
  for (int round = 0; round < 50; ++round) {
    FairQueue<std::int64_t> fair;
    std::map<std::uint64_t, std::int64_t> asked;
    std::map<std::uint64_t, std::int64_t> got;
    for (int count = 0; count < 400; ++count) {
      const std::uint64_t owner = random.below(6);
      const auto cost_us = static_cast<std::int64_t>(1 + random.below(owner == 0 ? 100 : 10));
      asked[owner] += cost_us;
      fair.push(payer(owner, random.below(3)), cost_us);
    }
    for (std::int64_t total = 0; total < 1500 && fair.is_ready();)
      fair.serve_next(
          [&](const Payer& served, std::int64_t& cost_us) -> std::optional<std::int64_t> {
            got[served.owner.number] += cost_us;
            total += cost_us;
            return cost_us;
          });
    std::int64_t most = 0;
    for (const auto& [owner, us] : got) most = std::max(most, us);
    for (const auto& [owner, us] : asked)
      EXPECT_GE(got[owner], std::min(us, most - 200)) << "owner " << owner;
  }
}

}  // namespace
}  // namespace starling::stream
