// SPDX-License-Identifier: Apache-2.0
// Tests which snapshots a session or an owner loses when it begins further snapshots.
#include "starling/stream/state/snapshot_store.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

constexpr std::uint64_t session = 7;

std::shared_ptr<const Snapshot> snapshot_of(std::size_t neighbors) {
  Answers answers;
  answers.lists = {{.query = 0, .count = static_cast<std::uint32_t>(neighbors)}};
  answers.neighbors.resize(neighbors);
  return std::make_shared<Snapshot>("all", ReportWith{}, 1, std::move(answers),
                                    std::vector<QuerySlot>{{QueryId{1}, 0}}, true);
}

std::uint64_t begin(SnapshotStore& store, std::int64_t now_us) {
  EXPECT_TRUE(store.reserve({.session = session}, now_us).granted);
  const std::uint64_t number = store.next_number();
  store.pin(
      {.session = session}, number,
      std::make_shared<Snapshot>("all", ReportWith{}, 1, Answers{}, std::vector<QuerySlot>{}, true),
      now_us);
  return number;
}

/// Returns the place of a connection and of its session, which has the same number.
SnapshotStore::Place place_of(std::uint64_t connection) {
  return {.session = connection, .owner = {.number = connection}};
}

/// Holds a snapshot of `neighbors` neighbours in one list. Returns its number, 0 if it is refused.
std::uint64_t hold(SnapshotStore& store, SnapshotStore::Place place, std::size_t neighbors) {
  EXPECT_TRUE(store.reserve(place, 0).granted);
  if (!store.take_bytes(place, snapshot_bytes(1, neighbors, false)).granted) {
    store.cancel(place);
    return 0;
  }
  const std::uint64_t number = store.next_number();
  store.pin(place, number, snapshot_of(neighbors), 0);
  return number;
}

constexpr std::size_t many = 10'000;  // number of neighbours
const std::uint64_t many_bytes = snapshot_bytes(1, many, false);

TEST(SnapshotStore, TheOldestSnapshotOfAnOwnerGoesIfItsBytesAreTooMany) {
  SnapshotStore store({.owner_bytes_max = 2 * many_bytes});
  const std::uint64_t others = hold(store, place_of(9), many);
  const std::uint64_t first = hold(store, place_of(1), many);
  // Two sessions of one connection share its bytes.
  const SnapshotStore::Place again{.session = 2, .owner = place_of(1).owner};
  const std::uint64_t second = hold(store, again, many);
  const std::uint64_t third = hold(store, place_of(1), many);
  EXPECT_EQ(store.find(1, first, 0), nullptr);
  EXPECT_NE(store.find(2, second, 0), nullptr);
  EXPECT_NE(store.find(1, third, 0), nullptr);
  EXPECT_NE(store.find(9, others, 0), nullptr);
  EXPECT_LE(store.bytes(), 3 * many_bytes);
}

TEST(SnapshotStore, NobodysSnapshotIsDroppedForAnotherOwner) {
  SnapshotStore store({.bytes_max = 2 * many_bytes});
  const std::uint64_t first = hold(store, place_of(1), many);
  const std::uint64_t second = hold(store, place_of(2), many);
  SnapshotStore::Place late = place_of(3);
  ASSERT_TRUE(store.reserve(late, 0).granted);
  const auto refused = store.take_bytes(late, many_bytes);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.limit, "snapshot-bytes-max");
  EXPECT_GT(refused.retry_after_us, 0);
  store.cancel(late);
  EXPECT_NE(store.find(1, first, 0), nullptr);
  EXPECT_NE(store.find(2, second, 0), nullptr);
  EXPECT_NE(hold(store, place_of(2), many), 0u) << "an owner makes room for itself";
  EXPECT_EQ(store.find(2, second, 0), nullptr);
  EXPECT_NE(store.find(1, first, 0), nullptr);
}

TEST(SnapshotStore, ASnapshotThatNeverFitsDropsNone) {
  SnapshotStore store({.bytes_max = 3 * many_bytes, .owner_bytes_max = 2 * many_bytes});
  const std::uint64_t first = hold(store, place_of(1), many);
  SnapshotStore::Place place = place_of(1);
  ASSERT_TRUE(store.reserve(place, 0).granted);
  const auto refused = store.take_bytes(place, 2 * many_bytes + 1);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.limit, "connection-snapshot-bytes-max");
  EXPECT_EQ(refused.retry_after_us, 0);
  EXPECT_NE(store.find(1, first, 0), nullptr);
}

TEST(SnapshotStore, BytesThatAreBeingCopiedCountAndAreGivenBack) {
  SnapshotStore store({.owner_bytes_max = many_bytes});
  SnapshotStore::Place place = place_of(1);
  SnapshotStore::Place second = place_of(1);
  ASSERT_TRUE(store.reserve(place, 0).granted);
  ASSERT_TRUE(store.take_bytes(place, many_bytes).granted);
  ASSERT_TRUE(store.reserve(second, 0).granted);
  const auto refused = store.take_bytes(second, 1);
  EXPECT_FALSE(refused.granted);
  EXPECT_GT(refused.retry_after_us, 0);
  store.cancel(place);
  EXPECT_TRUE(store.take_bytes(second, 1).granted);
  store.cancel(second);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(SnapshotStore, NoSnapshotHoldsMoreBytesThanWereTakenForIt) {
  for (const std::size_t lists : {0u, 1u, 31u, 1000u}) {
    for (const std::size_t k : {0u, 1u, 33u}) {
      Answers answers;
      std::vector<QuerySlot> queries;
      for (std::size_t list = 0; list < lists; ++list) {
        answers.lists.push_back({.query = static_cast<Slot>(list),
                                 .count = static_cast<std::uint32_t>(k),
                                 .first = answers.neighbors.size(),
                                 .first_state = answers.states.size()});
        for (std::size_t each = 0; each < k; ++each) {
          answers.neighbors.emplace_back();  // one by one, so that the arrays grow beyond their
                                             // need
          answers.states.emplace_back();
        }
        queries.push_back({QueryId{list}, static_cast<Slot>(list)});
      }
      constexpr std::size_t a_list_each = 1;
      const Snapshot snapshot("all", {.position = true}, 1, std::move(answers), std::move(queries),
                              true, a_list_each);
      EXPECT_LE(snapshot.bytes(), snapshot_bytes(lists, lists * k, true)) << lists << " " << k;
    }
  }
}

TEST(SnapshotStore, AnOwnerHoldsFewSnapshotsWhateverItsSessions) {
  SnapshotStore store({.snapshots_max = 4, .owner_snapshots_max = 2});
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t each = 1; each <= 4; ++each)
    numbers.push_back(hold(store, {.session = each, .owner = place_of(1).owner}, 1));
  EXPECT_EQ(store.count(), 2u);
  EXPECT_EQ(store.find(2, numbers[1], 0), nullptr);
  EXPECT_NE(store.find(3, numbers[2], 0), nullptr);
  EXPECT_NE(hold(store, place_of(5), 1), 0u) << "there is place for others";
  store.drop_session(3);
  for (std::int64_t now_us = 0; now_us <= 32'000'000; now_us += 1'000'000) store.expire(now_us);
  EXPECT_EQ(store.count(), 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(SnapshotStore, ANewSnapshotReplacesTheOldestOfItsSession) {
  SnapshotStore store({.session_snapshots_max = 2});
  const std::uint64_t first = begin(store, 0);
  const std::uint64_t second = begin(store, 0);
  const std::uint64_t third = begin(store, 0);
  EXPECT_EQ(store.find(session, first, 0), nullptr);
  EXPECT_NE(store.find(session, second, 0), nullptr);
  EXPECT_NE(store.find(session, third, 0), nullptr);
}

TEST(SnapshotStore, ASnapshotThatIsRefusedReplacesNone) {
  SnapshotStore store({.session_snapshots_max = 2, .interval_us = 50'000, .burst = 2});
  const std::uint64_t first = begin(store, 0);
  const std::uint64_t second = begin(store, 0);
  const SnapshotStore::Reservation refused = store.reserve({.session = session}, 10'000);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.limit, "session-snapshots-burst");
  EXPECT_EQ(refused.retry_after_us, 40'000);
  EXPECT_NE(store.find(session, first, 10'000), nullptr);
  EXPECT_NE(store.find(session, second, 10'000), nullptr);
  EXPECT_EQ(store.count(), 2u);
  EXPECT_NE(begin(store, 50'000), 0u);
  EXPECT_EQ(store.find(session, first, 50'000), nullptr);
}

}  // namespace
}  // namespace starling::stream
