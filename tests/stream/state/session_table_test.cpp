// SPDX-License-Identifier: Apache-2.0
// Tests sessions on a virtual clock: which requests are applied, which are answered again without
// being applied, and which are refused.
#include "starling/stream/state/session_table.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

using Kind = SessionTable::Admission::Kind;

class Sessions : public testing::Test {
 protected:
  void apply(std::uint64_t sequence) {
    ASSERT_EQ(table.admit(session, sequence).kind, Kind::fresh);
    table.begin(session, sequence);
    table.answered(session, sequence, protocol::BatchReply{.accepted = sequence * 10});
  }

  SessionTable table{{.sessions_max = 2, .idle_us = 1000, .replies_max = 3}, 77};
  std::uint64_t session = table.open(0, 1, 0)->session;
};

TEST_F(Sessions, ANewSessionStartsBeforeItsFirstSequence) {
  const auto opened = table.open(0, 41, 0);
  ASSERT_TRUE(opened);
  EXPECT_NE(opened->session, session);
  EXPECT_FALSE(opened->resumed);
  EXPECT_EQ(opened->last_sequence, 40u);
  EXPECT_EQ(table.admit(opened->session, 41).kind, Kind::fresh);
}

TEST_F(Sessions, AResendGetsTheFirstReplyAgain) {
  apply(1);
  apply(2);
  const auto admission = table.admit(session, 1);
  ASSERT_EQ(admission.kind, Kind::resend);
  EXPECT_EQ(std::get<protocol::BatchReply>(*admission.reply).accepted, 10u);
}

TEST_F(Sessions, AGapIsRefusedWithTheNumberExpected) {
  apply(1);
  const auto admission = table.admit(session, 3);
  EXPECT_EQ(admission.kind, Kind::gap);
  EXPECT_EQ(admission.expected, 2u);
  EXPECT_EQ(table.admit(session, 2).kind, Kind::fresh) << "a gap must not use up a number";
}

TEST_F(Sessions, RepliesAreKeptUpToALimit) {
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) apply(sequence);
  EXPECT_EQ(table.admit(session, 1).kind, Kind::forgotten);
  EXPECT_EQ(table.admit(session, 2).kind, Kind::resend);
}

TEST_F(Sessions, AResendOfWhatIsUnderWayIsTold) {
  table.begin(session, 1);
  EXPECT_EQ(table.admit(session, 1).kind, Kind::unanswered);
  table.begin(session, 2);
  table.answered(session, 2, protocol::Done{});
  table.answered(session, 1, protocol::TickDone{.tick = Tick{9}});
  const auto admission = table.admit(session, 1);
  ASSERT_EQ(admission.kind, Kind::resend);
  EXPECT_EQ(std::get<protocol::TickDone>(*admission.reply).tick, Tick{9});
}

TEST_F(Sessions, ASessionIsResumedWithItsNumbers) {
  apply(1);
  const auto opened = table.open(session, 1, 5);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->resumed);
  EXPECT_EQ(opened->session, session);
  EXPECT_EQ(opened->last_sequence, 1u);
}

TEST_F(Sessions, TooManyInUseAreRefusedUntilOneIsIdle) {
  ASSERT_TRUE(table.touch(session, 0));
  ASSERT_TRUE(table.touch(table.open(0, 1, 900)->session, 900));
  EXPECT_FALSE(table.open(0, 1, 900));
  EXPECT_TRUE(table.expire(1000).empty()) << "idle for exactly the limit is not beyond it";
  EXPECT_EQ(table.expire(1001), std::vector{session});
  EXPECT_FALSE(table.touch(session, 1001));
  EXPECT_TRUE(table.open(0, 1, 1001));
}

TEST_F(Sessions, HellosAloneTakeEachOthersPlacesAndNobodyElses) {
  ASSERT_TRUE(table.touch(session, 0));
  std::uint64_t last = table.open(0, 1, 1)->session;
  for (int hello = 0; hello < 10; ++hello) {
    const auto opened = table.open(0, 1, 1);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->replaced, last) << "the oldest session that was never used";
    EXPECT_FALSE(table.touch(last, 1));
    last = opened->session;
  }
  EXPECT_EQ(table.count(), 2u);
  EXPECT_TRUE(table.touch(session, 1));
}

TEST_F(Sessions, TheOldestUnusedSessionMakesRoomAlsoAfterOthersWereUsedOrExpired) {
  const auto second = table.open(0, 1, 500);
  EXPECT_EQ(table.expire(1001), std::vector{session});
  const auto third = table.open(0, 1, 1001);
  EXPECT_FALSE(third->replaced);
  ASSERT_TRUE(table.touch(second->session, 1001));
  EXPECT_EQ(table.open(0, 1, 1001)->replaced, third->session);
}

TEST_F(Sessions, BeingHeardOfPutsIdlenessOff) {
  EXPECT_TRUE(table.touch(session, 800));
  EXPECT_TRUE(table.expire(1700).empty());
}

}  // namespace
}  // namespace starling::stream
