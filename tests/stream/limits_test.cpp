// SPDX-License-Identifier: Apache-2.0
// Tests the classes that limit what clients use: credit, names and snapshots. Also tests how losses
// that subscribers report are counted.
#include <limits>

#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/name_table.hpp"
#include "starling/stream/state/snapshot_store.hpp"
#include "starling/stream/state/subscriber_losses.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using Taken = CreditLedger::Taken;
using protocol::RowReason;

TEST(CreditLedger, ABatchBeyondRowsOrBytesTakesNothing) {
  CreditLedger ledger({.rows = 10, .bytes = 100});
  ledger.open(1);
  EXPECT_EQ(ledger.take(1, {.rows = 6, .bytes = 10}), Taken::taken);
  EXPECT_EQ(ledger.take(1, {.rows = 5, .bytes = 10}), Taken::beyond_rows);
  EXPECT_EQ(ledger.take(1, {.rows = 1, .bytes = 91}), Taken::beyond_bytes);
  EXPECT_EQ(ledger.take(1, {.rows = 4, .bytes = 90}), Taken::taken);
  ledger.give_back(1, {.rows = 6, .bytes = 10});
  EXPECT_EQ(ledger.take(1, {.rows = 6, .bytes = 10}), Taken::taken);
}

TEST(CreditLedger, SessionsDoNotShareCredit) {
  CreditLedger ledger({.rows = 10, .bytes = 100});
  ledger.open(1);
  ledger.open(2);
  EXPECT_EQ(ledger.take(1, {.rows = 10, .bytes = 1}), Taken::taken);
  EXPECT_EQ(ledger.take(2, {.rows = 10, .bytes = 1}), Taken::taken);
  EXPECT_EQ(ledger.take(3, {.rows = 1, .bytes = 1}), Taken::unknown_session);
}

TEST(CreditLedger, ABatchBeyondTheCreditIsRefusedByTheLimitsNameAndValue) {
  Fixes fixes;
  for (std::uint64_t id = 1; id <= 3; ++id) fixes.add(id, 1, 0, 0);
  const std::string frame = encoded({.request_id = 1, .session = 1, .sequence = 1}, fixes.batch());
  const ReceivedBytes received{nullptr, std::as_bytes(std::span(frame))};
  for (const protocol::ReachedLimit& limit :
       {protocol::ReachedLimit{"credit-rows", 2}, protocol::ReachedLimit{"credit-bytes", 9}}) {
    CreditLedger ledger({.rows = limit.name == "credit-rows" ? limit.value : 1000,
                         .bytes = limit.name == "credit-bytes" ? limit.value : 1000});
    ledger.open(1);
    const auto problem = prepare_request(received, {}, protocol::ServedSpace(SpaceOptions{}),
                                         ledger, std::make_shared<const Principal>(everybody()))
                             .request.problem;
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->code, protocol::ErrorCode::out_of_credit);
    EXPECT_EQ(problem->limit, limit);
    EXPECT_NE(problem->sentence.find(to_string(limit)), std::string::npos);
    EXPECT_EQ(ledger.most_taken().rows, 0u);
  }
}

TEST(CreditLedger, CreditOfAClosedSessionMayComeBackLate) {
  CreditLedger ledger({.rows = 10, .bytes = 100});
  ledger.open(1);
  EXPECT_EQ(ledger.take(1, {.rows = 1, .bytes = 1}), Taken::taken);
  ledger.close(1);
  ledger.give_back(1, {.rows = 1, .bytes = 1});
  EXPECT_EQ(ledger.take(1, {.rows = 1, .bytes = 1}), Taken::unknown_session);
}

class NameTableTest : public testing::Test {
 protected:
  std::uint64_t told = 0;
  NameTable::Teller teller{told, 100};
};

TEST_F(NameTableTest, ATextStandsOnlyForItsOwnId) {
  NameTable names({});
  const ObjectId id = protocol::id_of_text("tram 7");
  EXPECT_EQ(names.put(id, "tram 7", teller), RowReason::none);
  EXPECT_EQ(names.put(id, "tram 7", teller), RowReason::none)
      << "the same name again is not a collision";
  EXPECT_EQ(names.find(id), "tram 7");
  EXPECT_EQ(names.put(ObjectId{1}, "tram 8", teller), RowReason::text_is_not_its_id);
}

TEST_F(NameTableTest, DecimalTextCollidesWithAHashOfItsNumber) {
  NameTable names({});
  const ObjectId id = protocol::id_of_text("tram 7");
  ASSERT_EQ(names.put(id, "tram 7", teller), RowReason::none);
  EXPECT_EQ(names.put(id, std::to_string(to_number(id)), teller), RowReason::name_collision);
  EXPECT_EQ(names.put(ObjectId{12}, "12", teller), RowReason::none);
}

TEST_F(NameTableTest, NamesAreBounded) {
  NameTable names({.names_max = 1, .bytes_max = 100});
  EXPECT_EQ(names.put(protocol::id_of_text("a"), "a", teller), RowReason::none);
  EXPECT_EQ(names.put(protocol::id_of_text("b"), "b", teller), RowReason::too_many_names);
  EXPECT_EQ(names.put(protocol::id_of_text("a"), "a", teller), RowReason::none);
}

TEST_F(NameTableTest, OnlyNamesThatAreNewCountForWhoTellsThem) {
  NameTable names({});
  const NameTable::Teller first{told, 1};
  std::uint64_t told_by_second = 0;
  const NameTable::Teller second{told_by_second, 1};
  EXPECT_EQ(names.put(protocol::id_of_text("a"), "a", first), RowReason::none);
  EXPECT_EQ(names.put(protocol::id_of_text("a"), "a", second), RowReason::none);
  EXPECT_EQ(names.put(protocol::id_of_text("b"), "b", first), RowReason::too_many_names_of_session);
  EXPECT_EQ(names.put(protocol::id_of_text("b"), "b", second), RowReason::none);
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(told_by_second, 1u);
}

std::uint64_t pin_empty(SnapshotStore& store, std::uint64_t session, std::int64_t now_us) {
  const std::uint64_t number = store.next_number();
  store.pin({.session = session}, number,
            std::make_shared<Snapshot>("riders", ReportWith{}, 1, Answers{},
                                       std::vector<QuerySlot>{}, true),
            now_us);
  return number;
}

TEST(SnapshotStore, FirstPagesAreLimitedInRateAndToldWhenToComeBack) {
  SnapshotStore store({.interval_us = 100, .burst = 2});
  std::int64_t now_us = 0;
  for (int ask = 0; ask < 2; ++ask) {
    ASSERT_TRUE(store.reserve({.session = 1}, now_us).granted);
    store.release(pin_empty(store, 1, now_us));
  }
  const auto refused = store.reserve({.session = 1}, now_us);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.retry_after_us, 100);
  EXPECT_EQ(refused.limit, "session-snapshots-burst");
  EXPECT_TRUE(store.reserve({.session = 2}, now_us).granted) << "another session has its own rate";
  EXPECT_TRUE(store.reserve({.session = 1}, now_us + refused.retry_after_us).granted);
}

TEST(SnapshotStore, PinnedSnapshotsAreFewAndBelongToTheirSession) {
  SnapshotStore store({.snapshots_max = 3, .session_snapshots_max = 2});
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  EXPECT_FALSE(store.reserve({.session = 1}, 0).granted);
  ASSERT_TRUE(store.reserve({.session = 2}, 0).granted);
  EXPECT_FALSE(store.reserve({.session = 3}, 0).granted);
  const std::uint64_t number = pin_empty(store, 1, 0);
  EXPECT_NE(store.find(1, number, 0), nullptr);
  EXPECT_EQ(store.find(2, number, 0), nullptr);
  store.drop_session(1);
  EXPECT_EQ(store.find(1, number, 0), nullptr);
  EXPECT_TRUE(store.reserve({.session = 3}, 0).granted);
}

TEST(SnapshotStore, ASessionsOldestSnapshotMakesRoomForItsNext) {
  SnapshotStore store({.session_snapshots_max = 2});
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  const std::uint64_t oldest = pin_empty(store, 1, 0);
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  const std::uint64_t newer = pin_empty(store, 1, 0);
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  EXPECT_EQ(store.find(1, oldest, 0), nullptr);
  EXPECT_NE(store.find(1, newer, 0), nullptr);
  EXPECT_EQ(store.count(), 2u);
}

TEST(SnapshotStore, TheServersOwnStandstillGivesNoSnapshotUp) {
  SnapshotStore store({.idle_us = 30'000'000});
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  const std::uint64_t number = pin_empty(store, 1, 0);
  store.expire(3'600'000'000);
  EXPECT_NE(store.find(1, number, 3'600'000'000), nullptr);
}

TEST(SnapshotStore, ASnapshotThatNobodyPagesThroughIsGivenUp) {
  SnapshotStore store({.idle_us = 1000});
  ASSERT_TRUE(store.reserve({.session = 1}, 0).granted);
  const std::uint64_t number = pin_empty(store, 1, 0);
  store.expire(900);
  EXPECT_NE(store.find(1, number, 900), nullptr);
  store.expire(1901);
  EXPECT_EQ(store.find(1, number, 1901), nullptr);
  EXPECT_EQ(store.count(), 0u);
}

TEST(SubscriberLosses, OnlyWhatIsNewIsCounted) {
  SubscriberLosses losses;
  EXPECT_EQ(losses.report(1, StreamId{0}, 3, 9), 3u);
  EXPECT_EQ(losses.report(1, StreamId{0}, 3, 9), 0u);
  EXPECT_EQ(losses.report(1, StreamId{0}, 5, 9), 2u);
  EXPECT_EQ(losses.report(1, StreamId{1}, 1, 9), 1u);
  EXPECT_EQ(losses.report(2, StreamId{0}, 1, 9), 1u);
  EXPECT_EQ(losses.report(1, StreamId{0}, 1, 9), 1u) << "a new subscription counts from zero";
}

TEST(SubscriberLosses, NobodyIsBelievedToHaveLostMoreThanWasPublished) {
  SubscriberLosses losses;
  constexpr auto lie = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(losses.report(1, StreamId{0}, lie, 9), 9u);
  EXPECT_EQ(losses.report(1, StreamId{0}, 1, 9), 0u);
  EXPECT_EQ(losses.report(1, StreamId{0}, lie, 10), 1u);
  EXPECT_EQ(losses.report(2, StreamId{0}, 4, 10), 4u) << "other sessions count as before";
}

}  // namespace
}  // namespace starling::stream
