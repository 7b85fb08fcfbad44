// SPDX-License-Identifier: Apache-2.0
// Tests ObjectTable by itself: rules of event time, staged rows, slots, limits, export and import.
#include <array>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>

#include "tests/knn/tables/object_table_fixture.hpp"
#include "tests/support/words.hpp"

namespace starling {
namespace {

using test::fix;
using test::tagged;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ObjectTableTest, StagesASlotOnceWithItsLatestState) {
  update(fix(ann, 1, 10));
  update(fix(bob, 1, 20));
  update(tagged(fix(ann, 2, 11, 12), 5));
  const Staging taken = tick(2);
  ASSERT_THAT(taken.births, SizeIs(2));
  EXPECT_EQ(taken.births[0].id, ann);
  EXPECT_EQ(taken.births[1].id, bob);
  ASSERT_THAT(taken.objects, SizeIs(2));
  EXPECT_EQ(taken.objects[0].slot, taken.births[0].slot);
  EXPECT_EQ(taken.objects[0].position, (LatticePoint{11, 12, 0}));
  EXPECT_EQ(taken.objects[0].time_us, 2);
  EXPECT_EQ(taken.objects[0].tags, 5u);
  EXPECT_TRUE(is_alive(taken.objects[0].generation));
}

TEST_F(ObjectTableTest, ARowThatTheEngineHasTakenDoesNotChangeAndANewerOneComesBehindIt) {
  update(fix(ann, 1, 10));
  update(fix(bob, 1, 20));
  half_.end_part();
  update(fix(ann, 2, 11));
  update(fix(ann, 3, 12));
  update(fix(cat, 3, 30));
  remove(bob, 4);
  const Staging taken = tick(4);
  EXPECT_THAT(taken.part_ends, ElementsAre(2u));
  ASSERT_THAT(taken.objects, SizeIs(5));
  EXPECT_EQ(taken.objects[0].position.x, 10);
  EXPECT_EQ(taken.objects[1].position.x, 20);
  EXPECT_TRUE(is_alive(taken.objects[1].generation));
  EXPECT_EQ(taken.objects[2].slot, taken.objects[0].slot);
  EXPECT_EQ(taken.objects[2].position.x, 12);
  EXPECT_EQ(taken.objects[3].position.x, 30);
  EXPECT_EQ(taken.objects[4].slot, taken.objects[1].slot);
  EXPECT_FALSE(is_alive(taken.objects[4].generation));
}

TEST_F(ObjectTableTest, ABatchThatNamesNewObjectsAgainAndAgainGivesEachOneSlot) {
  std::vector<ObjectUpdate> rows;
  for (std::int32_t i = 0; i < 1'000; ++i) rows.push_back(fix(ObjectId(100 + i % 70), i, i));
  std::vector<UpdateStatus> statuses(rows.size());
  const UpdateCounts counts = table_->update(rows, no_limit, statuses, half_);
  EXPECT_EQ(counts.accepted, rows.size());
  const Staging taken = tick(1'000);
  EXPECT_THAT(taken.births, SizeIs(70));
  ASSERT_THAT(taken.objects, SizeIs(70));
  for (const ObjectRow& row : taken.objects) {
    EXPECT_EQ(row.time_us, row.position.x);
    EXPECT_GE(row.time_us, 930) << "not its newest fix";
  }
}

TEST_F(ObjectTableTest, StagesNothingForWhatDidNotChange) {
  update(fix(ann, 1, 10));
  tick(1);
  update(fix(ann, 0, 11));
  EXPECT_THAT(tick(2).objects, IsEmpty());
  update(fix(ann, 3, 11));
  const Staging taken = tick(3);
  EXPECT_THAT(taken.births, IsEmpty()) << "its id is staged once";
  EXPECT_THAT(taken.objects, SizeIs(1));
}

TEST_F(ObjectTableTest, DropsOlderRowsAndLetsTheLaterArrivalWinATie) {
  EXPECT_EQ(update(fix(ann, 5, 1)), UpdateStatus::accepted);
  EXPECT_EQ(update(fix(ann, 4, 2)), UpdateStatus::late);
  EXPECT_EQ(update(fix(ann, 5, 3)), UpdateStatus::accepted);
  EXPECT_EQ(tick(5).objects[0].position.x, 3);
}

TEST_F(ObjectTableTest, TakesRowsOfABatchInOrderAndCountsThem) {
  const std::array rows{fix(ann, 5, 1), fix(ann, 4, 2), fix(bob, 99, 3), fix(cat, 5, 4)};
  std::array<UpdateStatus, 4> statuses{};
  const UpdateCounts counts = table_->update(rows, 50, statuses, half_);
  EXPECT_THAT(statuses, ElementsAre(UpdateStatus::accepted, UpdateStatus::late,
                                    UpdateStatus::future, UpdateStatus::accepted));
  EXPECT_EQ(counts.accepted, 2u);
  EXPECT_EQ(counts.late, 1u);
  EXPECT_EQ(counts.rejected, 1u);
  EXPECT_EQ(table_->alive_count(), 2u);
  EXPECT_EQ(table_->newest_time_us(), 5);
}

TEST_F(ObjectTableTest, RefusesTimesThatNoClockShows) {
  constexpr std::int64_t limit = std::int64_t{1} << 61;
  EXPECT_EQ(update(fix(ann, limit, 1)), UpdateStatus::accepted);
  EXPECT_EQ(update(fix(bob, -limit, 1)), UpdateStatus::accepted);
  EXPECT_EQ(update(fix(cat, limit + 1, 1)), UpdateStatus::time_out_of_range);
  EXPECT_EQ(update(fix(cat, -limit - 1, 1)), UpdateStatus::time_out_of_range);
  EXPECT_EQ(remove(cat, limit + 1), UpdateStatus::time_out_of_range);
  EXPECT_EQ(update_tags({ann, -limit - 1, 1, 0}), UpdateStatus::time_out_of_range);
}

TEST_F(ObjectTableTest, RefusesRowsBeyondTheLatestTimeAllowed) {
  EXPECT_EQ(update(fix(ann, 10, 1), 10), UpdateStatus::accepted);
  EXPECT_EQ(update(fix(ann, 11, 1), 10), UpdateStatus::future);
  EXPECT_EQ(update_tags({ann, 11, 1, 0}, 10), UpdateStatus::future);
  EXPECT_EQ(remove(ann, 11, 10), UpdateStatus::future);
  EXPECT_EQ(table_->newest_time_us(), 10);
}

TEST_F(ObjectTableTest, LeavesATombstoneThatKeepsOlderFixesOut) {
  update(fix(ann, 10, 1));
  tick(10);
  EXPECT_EQ(remove(ann, 9), UpdateStatus::late);
  EXPECT_EQ(remove(ann, 20), UpdateStatus::accepted);
  EXPECT_EQ(update(fix(ann, 19, 1)), UpdateStatus::late);
  const Staging taken = tick(20);
  ASSERT_THAT(taken.objects, SizeIs(1));
  EXPECT_FALSE(is_alive(taken.objects[0].generation));
  EXPECT_EQ(table_->alive_count(), 0u);
  EXPECT_EQ(update(fix(ann, 19, 1)), UpdateStatus::late);
  EXPECT_EQ(update(fix(ann, 20, 1)), UpdateStatus::accepted);
  EXPECT_TRUE(table_->is_alive(table_->find(ann)));
}

TEST_F(ObjectTableTest, KeepsATombstoneForAnIdThatItNeverSaw) {
  EXPECT_EQ(remove(ann, 20), UpdateStatus::accepted);
  EXPECT_EQ(update(fix(ann, 19, 1)), UpdateStatus::late);
  EXPECT_EQ(table_->alive_count(), 0u);
}

TEST_F(ObjectTableTest, ForgetsATombstoneAndReusesItsSlotUnderANewGeneration) {
  start({.tombstone_ttl_us = 10});
  update(fix(ann, 0, 1));
  const std::uint32_t generation = tick(0).objects[0].generation;
  const Slot slot = table_->find(ann);
  remove(ann, 5);
  tick(10);
  tick(19);
  EXPECT_EQ(table_->find(ann), slot) << "the tombstone is kept for ten microseconds of tau";
  tick(20);
  EXPECT_EQ(table_->find(ann), no_slot);
  update(fix(bob, 0, 2));
  EXPECT_EQ(table_->find(bob), slot);
  const Staging taken = tick(22);
  ASSERT_THAT(taken.births, SizeIs(1));
  EXPECT_EQ(taken.births[0].id, bob);
  EXPECT_GT(taken.objects[0].generation, generation);
  EXPECT_EQ(update(fix(ann, 0, 1)), UpdateStatus::accepted);
  EXPECT_NE(table_->find(ann), slot);
}

TEST_F(ObjectTableTest, BearsAnObjectAnewThatReturnsAfterItWasForgotten) {
  start({.tombstone_ttl_us = 10});
  update(fix(ann, 0, 1));
  tick(0);
  remove(ann, 1);
  tick(5);
  tick(100);
  update(fix(ann, 101, 1));
  EXPECT_THAT(tick(102).births, SizeIs(1));
  EXPECT_TRUE(table_->is_alive(table_->find(ann)));
}

TEST_F(ObjectTableTest, FindsObjectsInWhateverOrderABatchNamesThem) {
  constexpr std::int32_t count = 500;
  const std::vector<std::int32_t (*)(std::int32_t)> orders = {
      [](std::int32_t i) { return i; }, [](std::int32_t i) { return i; },
      [](std::int32_t i) { return count - 1 - i; },
      [](std::int32_t i) { return (i + 100) % count; },
      [](std::int32_t i) { return i * 7 % count; }};
  for (std::int32_t round = 0; const auto order : orders) {
    std::vector<ObjectUpdate> rows;
    for (std::int32_t i = 0; i < count; ++i)
      rows.push_back(fix(ObjectId(1000 + order(i)), round, order(i), round));
    std::vector<UpdateStatus> statuses(rows.size());
    EXPECT_EQ(table_->update(rows, no_limit, statuses, half_).accepted, rows.size());
    const Staging taken = tick(round);
    EXPECT_EQ(taken.births.size(), round == 0 ? count : 0u);
    ASSERT_THAT(taken.objects, SizeIs(count));
    for (const ObjectRow& row : taken.objects)
      EXPECT_EQ(row.position, (LatticePoint{static_cast<std::int32_t>(row.slot), round, 0}));
    ++round;
  }
}

TEST_F(ObjectTableTest, KeepsTheSlotOfAnObjectThatReturnsInTime) {
  start({.tombstone_ttl_us = 10});
  update(fix(ann, 0, 1));
  tick(0);
  const Slot slot = table_->find(ann);
  remove(ann, 1);
  tick(5);
  update(fix(ann, 6, 1));
  tick(100);
  EXPECT_EQ(table_->find(ann), slot);
  EXPECT_TRUE(table_->is_alive(slot));
}

TEST_F(ObjectTableTest, ExpiresAnObjectOlderThanItsTtlAtTheTick) {
  start({.object_ttl_us = 100});
  update(fix(ann, 0, 1));
  update(fix(bob, 50, 1));
  EXPECT_THAT(tick(100).objects, SizeIs(2));
  const Staging taken = tick(101);
  ASSERT_THAT(taken.objects, SizeIs(1));
  EXPECT_EQ(taken.objects[0].slot, table_->find(ann));
  EXPECT_FALSE(is_alive(taken.objects[0].generation));
  EXPECT_EQ(table_->alive_count(), 1u);
  EXPECT_THAT(tick(140).objects, IsEmpty());
  EXPECT_THAT(tick(200).objects, SizeIs(1));
}

TEST_F(ObjectTableTest, GivesTagUpdatesTheBitsTheySpokeOf) {
  update(tagged(fix(ann, 10, 1), 0b0101));
  EXPECT_EQ(update_tags({ann, 7, 0b0010, 0b0110}), UpdateStatus::accepted);
  EXPECT_EQ(tick(10).objects[0].tags, 0b0011u);
  update(tagged(fix(ann, 11, 1), 0b1100));
  EXPECT_EQ(tick(11).objects[0].tags, 0b1010u);
  EXPECT_EQ(update_tags({ann, 6, 0b1111, 0}), UpdateStatus::late);
  EXPECT_EQ(update_tags({ann, 7, 0, 0b0010}), UpdateStatus::accepted);
  EXPECT_EQ(tick(12).objects[0].tags, 0b1000u);
}

TEST_F(ObjectTableTest, KnowsNoTagsOfAnIdItNeverSawOrForgot) {
  start({.tombstone_ttl_us = 10});
  EXPECT_EQ(update_tags({ann, 0, 1, 0}), UpdateStatus::unknown_object);
  table_->follow(bob, half_);
  EXPECT_EQ(update_tags({bob, 0, 1, 0}), UpdateStatus::unknown_object);
  update(fix(ann, 0, 1));
  remove(ann, 1);
  tick(10);
  EXPECT_EQ(update_tags({ann, 2, 1, 0}), UpdateStatus::accepted) << "remembered";
  tick(30);
  EXPECT_EQ(update_tags({ann, 3, 1, 0}), UpdateStatus::unknown_object) << "forgotten";
}

TEST_F(ObjectTableTest, ResetsTagsAtARemovalAndKeepsThemThroughExpiry) {
  start({.object_ttl_us = 100});
  for (const ObjectId id : {ann, bob}) {
    update(tagged(fix(id, 0, 1), 0b01));
    update_tags({id, 1, 0b10, 0});
  }
  remove(bob, 50);
  tick(150);
  EXPECT_EQ(table_->alive_count(), 0u);
  EXPECT_EQ(update_tags({bob, 49, 1, 0}), UpdateStatus::late);
  update(fix(ann, 150, 1));
  update(fix(bob, 150, 1));
  const Staging taken = tick(151);
  EXPECT_EQ(taken.objects[0].tags, 0b11u);
  EXPECT_EQ(taken.objects[1].tags, 0u);
}

TEST_F(ObjectTableTest, HoldsBackTagsOlderThanARemoval) {
  update(fix(ann, 0, 1));
  remove(ann, 20);
  remove(bob, 20);
  EXPECT_EQ(update_tags({ann, 19, 1, 0}), UpdateStatus::late);
  EXPECT_EQ(update_tags({bob, 19, 1, 0}), UpdateStatus::late)
      << "removed at 20, before its first update";
  EXPECT_EQ(update_tags({ann, 20, 1, 0}), UpdateStatus::accepted);
  update(fix(ann, 21, 1));
  EXPECT_EQ(tick(21).objects[0].tags, 1u);
}

TEST_F(ObjectTableTest, KeepsAFollowedSlotForAsLongAsItIsFollowed) {
  start({.tombstone_ttl_us = 10});
  const Slot slot = table_->follow(ann, half_);
  ASSERT_NE(slot, no_slot);
  EXPECT_EQ(table_->follow(ann, half_), slot);
  EXPECT_FALSE(table_->is_alive(slot));
  update(fix(ann, 0, 1));
  EXPECT_EQ(table_->find(ann), slot);
  remove(ann, 1);
  for (const std::int64_t tau_us : {10, 30, 50}) tick(tau_us);
  EXPECT_EQ(table_->find(ann), slot);
  table_->unfollow(slot);
  for (const std::int64_t tau_us : {60, 80}) tick(tau_us);
  EXPECT_EQ(table_->find(ann), slot) << "one follower is left";
  table_->unfollow(slot);
  for (const std::int64_t tau_us : {100, 120}) tick(tau_us);
  EXPECT_EQ(table_->find(ann), no_slot);
}

TEST_F(ObjectTableTest, ForgetsARemovedObjectOnceThoughItsFollowerLeavesToo) {
  start({.tombstone_ttl_us = 10});
  const Slot slot = table_->follow(ann, half_);
  update(fix(ann, 0, 1));
  remove(ann, 1);
  tick(1);
  table_->unfollow(slot);
  for (const std::int64_t tau_us : {20, 40, 60}) tick(tau_us);
  EXPECT_EQ(table_->find(ann), no_slot);
  update(fix(bob, 60, 1));
  update(fix(cat, 60, 1));
  EXPECT_NE(table_->find(bob), table_->find(cat)) << "the slot was freed once";
}

TEST_F(ObjectTableTest, ForgetsALeaverNoLaterBecauseItsFollowerLeftAfterIt) {
  start({.tombstone_ttl_us = 10});
  const Slot slot = table_->follow(ann, half_);
  update(fix(ann, 0, 1));
  remove(ann, 1);
  tick(1);
  table_->unfollow(slot);
  tick(9);
  EXPECT_EQ(update(fix(ann, 0, 1)), UpdateStatus::late);
  tick(11);
  EXPECT_EQ(table_->find(ann), no_slot);
}

TEST_F(ObjectTableTest, ForgetsAnIdThatFollowersCameToAndLeftTwice) {
  start({.tombstone_ttl_us = 10});
  for (const std::int64_t tau_us : {1, 2}) {
    table_->unfollow(table_->follow(ann, half_));
    tick(tau_us);
  }
  for (const std::int64_t tau_us : {20, 40, 60}) tick(tau_us);
  EXPECT_EQ(table_->find(ann), no_slot);
}

TEST_F(ObjectTableTest, ForgetsTheTimeAndTagsOfAnObjectEvenWhileItIsFollowed) {
  start({.tombstone_ttl_us = 10});
  const Slot slot = table_->follow(ann, half_);
  update(tagged(fix(ann, 5, 1), 0b1));
  update_tags({ann, 5, 0b10, 0});
  remove(ann, 6);
  for (const std::int64_t tau_us : {10, 30, 50}) tick(tau_us);
  EXPECT_EQ(update_tags({ann, 60, 1, 0}), UpdateStatus::unknown_object);
  EXPECT_EQ(update(fix(ann, 1, 1)), UpdateStatus::accepted)
      << "a follower does not change the rules";
  EXPECT_EQ(table_->find(ann), slot);
  EXPECT_EQ(tick(60).objects[0].tags, 0u);
}

TEST_F(ObjectTableTest, RefusesObjectsBeyondItsLimitAndTakesThemWhenThereIsRoom) {
  start({.objects_max = 2, .tombstone_ttl_us = 10});
  update(fix(ann, 0, 1));
  remove(bob, 0);
  EXPECT_EQ(update(fix(cat, 0, 1)), UpdateStatus::too_many_objects);
  EXPECT_EQ(remove(cat, 0), UpdateStatus::too_many_objects);
  EXPECT_EQ(table_->follow(cat, half_), no_slot);
  EXPECT_EQ(update(fix(ann, 1, 2)), UpdateStatus::accepted);
  tick(0);
  tick(20);
  EXPECT_EQ(update(fix(cat, 0, 1)), UpdateStatus::accepted);
}

TEST_F(ObjectTableTest, ContinuesFromItsExportedState) {
  start({.object_ttl_us = 100, .tombstone_ttl_us = 50});
  update(tagged(fix(ann, 0, 1), 0b01));
  update_tags({ann, 5, 0b10, 0});
  remove(bob, 30);
  const Slot followed = table_->follow(cat, half_);
  tick(60);

  const ObjectTableState state = table_->export_state();
  start({.object_ttl_us = 100, .tombstone_ttl_us = 50});
  table_->import_state(state, half_);
  EXPECT_EQ(table_->alive_count(), 1u);
  EXPECT_EQ(table_->newest_time_us(), 0);
  EXPECT_EQ(table_->follow(cat, half_), followed);
  EXPECT_EQ(update(fix(bob, 29, 1)), UpdateStatus::late);
  EXPECT_EQ(update_tags({ann, 4, 0, 0b10}), UpdateStatus::late);
  update(tagged(fix(ann, 60, 2), 0));
  EXPECT_EQ(table_->alive_count(), 1u);
  tick(111);
  EXPECT_EQ(update(fix(bob, 29, 1)), UpdateStatus::accepted) << "the tombstone's time was imported";
}

}  // namespace
}  // namespace starling
