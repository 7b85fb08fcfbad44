// SPDX-License-Identifier: Apache-2.0
// Tests which connection gives way when all places are taken.
#include "starling/stream/turns/places.hpp"

#include <map>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using Outcome = Places::Outcome;

RequestOwner principal(std::uint32_t id) {
  return owner_of(zmtp::PrincipalId{id}, address_of("127.0.0.1"));
}

TEST(Places, AnAddressHoldsThePlacesOfPeersWithoutAPrincipal) {
  const PeerAddress one = address_of("127.0.0.1");
  const PeerAddress two = address_of("127.0.0.2");
  EXPECT_NE(owner_of(zmtp::PrincipalId{}, one), owner_of(zmtp::PrincipalId{}, two));
  EXPECT_EQ(owner_of(zmtp::PrincipalId{1}, one), owner_of(zmtp::PrincipalId{1}, two));
}

TEST(Places, OneHolderMayHaveAllWhileNoOtherWantsAny) {
  Places places({.places_max = 3});
  for (std::uint64_t number = 1; number <= 3; ++number)
    EXPECT_EQ(places.take(number, principal(1)).outcome, Outcome::taken);
  EXPECT_FALSE(places.has_place_for(principal(1)));
  EXPECT_EQ(places.take(4, principal(1)).outcome, Outcome::full);
  EXPECT_EQ(places.count(), 3u);
  places.give_back(2);
  EXPECT_EQ(places.take(5, principal(1)).outcome, Outcome::taken);
}

TEST(Places, ANewcomerTakesTheNewestPlaceOfTheHolderThatHasTheMost) {
  Places places({.places_max = 4});
  places.take(1, principal(2));
  for (std::uint64_t number = 2; number <= 4; ++number) places.take(number, principal(1));
  EXPECT_TRUE(places.has_place_for(principal(3)));
  const Places::Taken taken = places.take(5, principal(3));
  EXPECT_EQ(taken.outcome, Outcome::taken);
  EXPECT_EQ(taken.gave_way, 4u);
  EXPECT_EQ(places.gave_way().count, 1u);
  EXPECT_EQ(places.gave_way().last, principal(1));
  places.give_back(4);  // when its connection is closed
  EXPECT_EQ(places.count(), 4u);
  // 2, 1 and 1 places: a further one for any holder would only turn the tables.
  for (std::uint32_t id = 1; id <= 3; ++id)
    EXPECT_EQ(places.take(6, principal(id)).outcome, Outcome::full) << id;
}

TEST(Places, HoldersThatWantAllTakeNoPlaceFromEachOtherOnceTheyHaveTheirShares) {
  for (const std::uint64_t seed : test::seeds(20)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    constexpr std::size_t places_max = 24;
    const auto holders = static_cast<std::uint32_t>(1 + random.below(8));
    Places places({.places_max = places_max});
    std::map<std::uint64_t, RequestOwner> held;
    std::uint64_t number = 0;
    const auto count_of = [&held](const RequestOwner& holder) {
      std::size_t count = 0;
      for (const auto& [each, its] : held) count += its == holder ? 1u : 0u;
      return count;
    };
    for (int step = 0; step < 2000; ++step) {
      const RequestOwner holder = principal(1 + static_cast<std::uint32_t>(random.below(holders)));
      const std::size_t before = count_of(holder);
      const Places::Taken taken = places.take(++number, holder);
      if (taken.gave_way) {
        EXPECT_GT(count_of(held.at(*taken.gave_way)), before + 1)
            << "it had no more than its share";
        held.erase(*taken.gave_way);
      }
      if (taken.outcome == Outcome::taken) held.emplace(number, holder);
      ASSERT_EQ(places.count(), held.size());
      ASSERT_LE(held.size(), places_max);
    }
    const std::uint64_t gave_way = places.gave_way().count;
    for (int step = 0; step < 100; ++step)
      places.take(++number, principal(1 + static_cast<std::uint32_t>(random.below(holders))));
    EXPECT_EQ(places.gave_way().count, gave_way);
  }
}

TEST(Places, AQuotaRefusesAlthoughPlacesAreFree) {
  Places places(
      {.places_max = 8, .quota = [](zmtp::PrincipalId id) -> std::optional<std::uint64_t> {
         if (id == zmtp::PrincipalId{1}) return 2;
         return std::nullopt;
       }});
  for (std::uint64_t number = 1; number <= 2; ++number) places.take(number, principal(1));
  EXPECT_EQ(places.take(3, principal(1)).outcome, Outcome::quota);
  EXPECT_EQ(places.take(4, principal(2)).outcome, Outcome::taken);
}

TEST(Places, AnIdleConnectionGivesWayFirst) {
  Places places({.places_max = 4});
  for (std::uint64_t number = 1; number <= 3; ++number) places.take(number, principal(1), true);
  places.take(4, principal(2), true);
  places.set_idle(1, false);
  EXPECT_EQ(places.take(5, principal(3)).gave_way, 2u);
  places.set_idle(1, true);
  EXPECT_EQ(places.take(6, principal(1)).gave_way, 1u);
}

TEST(Places, AnIdleConnectionOfAHolderWithFewerKeepsItsPlace) {
  Places places({.places_max = 3});
  places.take(1, principal(2), true);
  for (std::uint64_t number = 2; number <= 3; ++number) places.take(number, principal(1));
  EXPECT_EQ(places.take(4, principal(1)).outcome, Outcome::full);
  EXPECT_EQ(places.take(5, principal(2)).gave_way, 1u) << "its own";
}

TEST(Places, OfBriefPlacesTheOldestGivesWayAndNoNewcomerIsRefused) {
  Places places({.places_max = 4,
                 .quota = [](zmtp::PrincipalId) -> std::optional<std::uint64_t> { return 2; },
                 .are_brief = true});
  for (std::uint64_t number = 1; number <= 2; ++number) places.take(number, principal(1), true);
  places.set_idle(1, false);
  EXPECT_EQ(places.take(3, principal(1), true).gave_way, 2u) << "2 has sent nothing";
  places.set_idle(3, false);
  EXPECT_EQ(places.take(4, principal(1), true).gave_way, 1u);
  for (std::uint64_t number = 5; number <= 6; ++number) places.take(number, principal(2));
  EXPECT_EQ(places.take(7, principal(3)).gave_way, 4u) << "4 has sent nothing";
  places.give_back(7);
  places.take(8, principal(1));
  EXPECT_EQ(places.take(9, principal(3)).gave_way, 3u);
}

}  // namespace
}  // namespace starling::stream
