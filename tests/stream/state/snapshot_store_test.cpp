// SPDX-License-Identifier: Apache-2.0
// Tests which snapshots a session loses when it begins more of them.
#include "starling/stream/state/snapshot_store.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

constexpr std::uint64_t session = 7;

std::uint64_t begin(SnapshotStore& store, std::int64_t now_us) {
  EXPECT_TRUE(store.reserve(session, now_us).granted);
  const std::uint64_t number = store.next_number();
  store.pin(
      session, number,
      std::make_shared<Snapshot>("all", ReportWith{}, 1, Answers{}, std::vector<QuerySlot>{}, true),
      now_us);
  return number;
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
  const SnapshotStore::Reservation refused = store.reserve(session, 10'000);
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
