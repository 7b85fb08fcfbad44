// SPDX-License-Identifier: Apache-2.0
// Tests sessions on a virtual clock: which requests are applied, which are answered again without
// being applied, and which are refused.
#include "starling/stream/state/session_table.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

using Kind = SessionTable::Admission::Kind;
using Forgotten = SessionTable::Forgotten;

constexpr std::uint64_t me = 1;
constexpr std::uint64_t other = 2;
constexpr std::uint64_t body = 5;  ///< the hash of all bodies, where a test names no other

class Sessions : public testing::Test {
 protected:
  void apply(std::uint64_t sequence) {
    ASSERT_EQ(table.admit(session, sequence, body).kind, Kind::fresh);
    table.begin(session, sequence, body);
    table.answered(session, sequence, protocol::BatchReply{.accepted = sequence * 10});
  }

  std::uint64_t arriving = 0;  ///< a session with requests that have come and are not handled yet
  SessionTable table{{.sessions_max = 2, .idle_us = 1000, .gives_way_us = 200, .replies_max = 3},
                     [next = std::uint64_t{77}]() mutable { return next++; },
                     [this](std::uint64_t id) { return id == arriving; }};
  std::uint64_t session = table.open(me, 0, 1, 0)->session;
};

TEST_F(Sessions, ANewSessionStartsBeforeItsFirstSequence) {
  const auto opened = table.open(me, 0, 41, 0);
  ASSERT_TRUE(opened);
  EXPECT_NE(opened->session, session);
  EXPECT_FALSE(opened->resumed);
  EXPECT_EQ(opened->last_sequence, 40u);
  EXPECT_EQ(table.admit(opened->session, 41, body).kind, Kind::fresh);
}

TEST_F(Sessions, AResendGetsTheFirstReplyAgain) {
  apply(1);
  apply(2);
  const auto admission = table.admit(session, 1, body);
  ASSERT_EQ(admission.kind, Kind::resend);
  EXPECT_EQ(std::get<protocol::BatchReply>(*admission.reply).accepted, 10u);
}

TEST_F(Sessions, AGapIsRefusedWithTheNumberExpected) {
  apply(1);
  const auto admission = table.admit(session, 3, body);
  EXPECT_EQ(admission.kind, Kind::gap);
  EXPECT_EQ(admission.expected, 2u);
  EXPECT_EQ(table.admit(session, 2, body).kind, Kind::fresh) << "a gap must not use up a number";
}

TEST_F(Sessions, WhoResumesIsToldOnlyOfRequestsThatAreAnswered) {
  apply(1);
  table.begin(session, 2, body);
  table.begin(session, 3, body);
  table.answered(session, 3, protocol::Done{});
  EXPECT_EQ(table.open(other, session, 1, 10)->last_sequence, 1u);
  EXPECT_EQ(table.admit(session, 2, body).kind, Kind::unanswered);
  table.answered(session, 2, protocol::Done{});
  EXPECT_EQ(table.open(me, session, 1, 20)->last_sequence, 3u);
}

TEST_F(Sessions, RepliesAreKeptUpToALimit) {
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) apply(sequence);
  EXPECT_EQ(table.admit(session, 1, body).kind, Kind::forgotten);
  EXPECT_EQ(table.admit(session, 2, body).kind, Kind::resend);
}

TEST_F(Sessions, AResendOfWhatIsUnderWayIsTold) {
  table.begin(session, 1, body);
  EXPECT_EQ(table.admit(session, 1, body).kind, Kind::unanswered);
  table.begin(session, 2, body);
  table.answered(session, 2, protocol::Done{});
  table.answered(session, 1, protocol::TickDone{.tick = Tick{9}});
  const auto admission = table.admit(session, 1, body);
  ASSERT_EQ(admission.kind, Kind::resend);
  EXPECT_EQ(std::get<protocol::TickDone>(*admission.reply).tick, Tick{9});
}

TEST_F(Sessions, ASessionIsResumedWithItsNumbers) {
  apply(1);
  const auto opened = table.open(me, session, 1, 5);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->resumed);
  EXPECT_EQ(opened->session, session);
  EXPECT_EQ(opened->last_sequence, 1u);
}

TEST_F(Sessions, TooManyInUseAreRefusedUntilOneIsIdle) {
  ASSERT_TRUE(table.touch(me, session, 0));
  table.begin(session, 1, body);
  ASSERT_TRUE(table.touch(me, table.open(me, 0, 1, 900)->session, 900));
  EXPECT_FALSE(table.open(me, 0, 1, 900)) << "one has an unanswered request, one was just used";
  EXPECT_TRUE(table.expire(1000).empty()) << "idle for exactly the limit is not beyond it";
  EXPECT_EQ(table.expire(1001), (std::vector<Forgotten>{{session, 1}}));
  EXPECT_FALSE(table.touch(me, session, 1001));
  EXPECT_TRUE(table.open(me, 0, 1, 1001));
}

TEST_F(Sessions, HellosAloneTakeEachOthersPlacesAndNobodyElses) {
  ASSERT_TRUE(table.touch(me, session, 0));
  std::uint64_t last = table.open(me, 0, 1, 1)->session;
  for (int hello = 0; hello < 10; ++hello) {
    const auto opened = table.open(me, 0, 1, 1);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->replaced.value().session, last) << "the oldest session that was never used";
    EXPECT_FALSE(table.touch(me, last, 1));
    last = opened->session;
  }
  EXPECT_EQ(table.count(), 2u);
  EXPECT_TRUE(table.touch(me, session, 1));
}

TEST_F(Sessions, TheOldestUnusedSessionMakesRoomAlsoAfterOthersWereUsedOrExpired) {
  const auto second = table.open(me, 0, 1, 500);
  EXPECT_EQ(table.expire(1001), (std::vector<Forgotten>{{session, 1}}));
  const auto third = table.open(me, 0, 1, 1001);
  EXPECT_FALSE(third->replaced);
  ASSERT_TRUE(table.touch(me, second->session, 1001));
  EXPECT_EQ(table.open(me, 0, 1, 1001)->replaced.value().session, third->session);
}

TEST_F(Sessions, TheOneThatWasSilentLongestGivesWay) {
  const std::uint64_t second = table.open(me, 0, 1, 0)->session;
  ASSERT_TRUE(table.touch(me, second, 100));
  apply(1);
  ASSERT_TRUE(table.touch(me, session, 150));
  EXPECT_FALSE(table.open(other, 0, 1, 299)) << "no session was silent for long enough";
  EXPECT_EQ(table.open(other, 0, 1, 300)->replaced.value(), (Forgotten{second, 2}));
  EXPECT_FALSE(table.touch(me, second, 300)) << "its client is told that it is unknown";
  EXPECT_EQ(table.admit(session, 1, body).kind, Kind::resend) << "the other one keeps its replies";
}

TEST_F(Sessions, OneThatIsOwedAReplyDoesNotGiveWay) {
  const std::uint64_t second = table.open(me, 0, 1, 0)->session;
  ASSERT_TRUE(table.touch(me, session, 1));
  ASSERT_TRUE(table.touch(me, second, 2));
  table.begin(session, 1, body);
  arriving = second;
  EXPECT_FALSE(table.open(other, 0, 1, 900));
  table.answered(session, 1, protocol::Done{});
  EXPECT_EQ(table.open(other, 0, 1, 900)->replaced.value().session, session);
}

TEST_F(Sessions, OneThatItsOwnerEndsIsForgotten) {
  ASSERT_TRUE(table.touch(me, session, 0));
  EXPECT_FALSE(table.end(other, session));
  EXPECT_TRUE(table.end(me, session));
  EXPECT_FALSE(table.end(me, session));
  EXPECT_EQ(table.count(), 0u);
  for (int opened = 0; opened < 2; ++opened) EXPECT_FALSE(table.open(me, 0, 1, 0)->replaced);
}

TEST_F(Sessions, BeingHeardOfPutsIdlenessOff) {
  EXPECT_TRUE(table.touch(me, session, 800));
  EXPECT_TRUE(table.expire(1700).empty());
}

TEST_F(Sessions, TheServersOwnStandstillIsNotTheirSilence) {
  constexpr std::int64_t second_us = 1'000'000;
  SessionTable slow(
      {.sessions_max = 1, .idle_us = 60 * second_us, .gives_way_us = 30 * second_us},
      [next = std::uint64_t{1}]() mutable { return next++; }, [](std::uint64_t) { return false; });
  const std::uint64_t id = slow.open(me, 0, 1, 0)->session;
  std::int64_t now_us = 0;
  const auto pass = [&](std::int64_t seconds) {
    std::size_t ended = 0;
    for (; seconds > 0; --seconds) ended += slow.expire(now_us += second_us).size();
    return ended;
  };
  ASSERT_TRUE(slow.touch(me, id, now_us));
  EXPECT_EQ(pass(20), 0u);
  now_us += 3600 * second_us;  // the process is stopped for an hour
  EXPECT_FALSE(slow.open(other, 0, 1, now_us)) << "the session was silent for 22 s";
  EXPECT_TRUE(slow.expire(now_us).empty());
  EXPECT_EQ(pass(7), 0u);
  EXPECT_FALSE(slow.open(other, 0, 1, now_us));
  EXPECT_EQ(pass(31), 0u);
  EXPECT_TRUE(slow.owns(me, id));
  EXPECT_EQ(pass(1), 1u) << "it was silent for 61 s";
}

TEST_F(Sessions, ASessionBelongsToTheConnectionThatOpenedOrResumedItLast) {
  apply(1);
  EXPECT_FALSE(table.touch(other, session, 0));
  EXPECT_EQ(table.next_sequence(other, session), 0u) << "the number is not another's business";
  EXPECT_EQ(table.next_sequence(me, session), 2u);
  EXPECT_TRUE(table.open(other, session, 1, 0)->resumed);
  EXPECT_TRUE(table.touch(other, session, 0));
  EXPECT_FALSE(table.touch(me, session, 0));
}

TEST_F(Sessions, AUsedNumberWithAnotherBodyIsNoResend) {
  apply(1);
  EXPECT_EQ(table.admit(session, 1, body + 1).kind, Kind::different);
  EXPECT_EQ(table.admit(session, 1, body).kind, Kind::resend);
  table.begin(session, 2, body);
  EXPECT_EQ(table.admit(session, 2, body + 1).kind, Kind::different) << "it is not answered yet";
}

class ConnectionSessions : public testing::Test {
 protected:
  /// Opens a session and uses it.
  std::optional<SessionTable::Opened> open(std::uint64_t connection, std::int64_t now_us) {
    auto opened = table.open(connection, 0, 1, now_us);
    if (opened) table.touch(connection, opened->session, now_us);
    return opened;
  }

  SessionTable table{{.sessions_max = 4, .connection_sessions_max = 2, .gives_way_us = 200},
                     [next = std::uint64_t{1}]() mutable { return next++; }};
};

TEST_F(ConnectionSessions, OneConnectionDoesNotTakeAllPlaces) {
  ASSERT_TRUE(open(me, 0));
  ASSERT_TRUE(open(me, 0));
  EXPECT_FALSE(open(me, 100)) << "both are in use";
  EXPECT_EQ(table.count_of(me), 2u);
  EXPECT_TRUE(open(other, 100));
}

TEST_F(ConnectionSessions, AFurtherOneReplacesASilentOneOfTheSameConnection) {
  ASSERT_TRUE(open(other, 0));
  const auto first = open(me, 1);
  ASSERT_TRUE(open(me, 2));
  const auto third = open(me, 300);
  ASSERT_TRUE(third);
  ASSERT_TRUE(third->replaced);
  EXPECT_EQ(third->replaced->session, first->session) << "not the older one of the other";
}

TEST_F(ConnectionSessions, AResumedOneCountsForItsNewConnection) {
  const auto mine = open(me, 0);
  ASSERT_TRUE(open(other, 0));
  ASSERT_TRUE(open(other, 0));
  EXPECT_FALSE(table.open(other, mine->session, 1, 100)) << "two are in use already";
  EXPECT_TRUE(table.owns(me, mine->session));
  EXPECT_TRUE(table.open(me, mine->session, 1, 100)->resumed);
  EXPECT_EQ(table.count_of(me), 1u);
  const auto moved = table.open(other, mine->session, 1, 300);
  ASSERT_TRUE(moved);
  EXPECT_TRUE(moved->resumed);
  EXPECT_TRUE(moved->replaced);
  EXPECT_EQ(table.count_of(me), 0u);
  EXPECT_EQ(table.count_of(other), 2u);
  EXPECT_EQ(table.most_of_connection(), 2u);
}

TEST_F(ConnectionSessions, TheServersOwnEndpointsHaveNoSuchBound) {
  for (int each = 0; each < 4; ++each) {
    const auto opened = table.open(me, 0, 1, 0, {.has_connection = false});
    ASSERT_TRUE(opened);
    table.touch(me, opened->session, 0);
  }
  EXPECT_EQ(table.count(), 4u);
}

class HolderSessions : public testing::Test {
 protected:
  static SessionOwner owner_at(const char* address) { return {.address = address_of(address)}; }
  /// Opens sessions of one address, and uses them, until one is refused.
  std::size_t open_all(const char* address, std::int64_t now_us) {
    std::size_t count = 0;
    while (count < 100) {
      const auto opened = table.open(++connection, 0, 1, now_us, owner_at(address));
      if (!opened) return count;
      table.touch(connection, opened->session, now_us);
      ++count;
    }
    return count;
  }

  SessionTable table{{.sessions_max = 16, .gives_way_us = 200},
                     [next = std::uint64_t{1}]() mutable { return next++; }};
  std::uint64_t connection = 0;
};

TEST_F(HolderSessions, OneAddressLeavesSessionsToOthers) {
  EXPECT_EQ(open_all("192.0.2.1", 0), 13u);
  EXPECT_EQ(open_all("192.0.2.2", 0), 3u) << "one, and more while some are free";
  EXPECT_EQ(table.count(), 16u);
  EXPECT_FALSE(table.open(100, 0, 1, 100, owner_at("192.0.2.3"))) << "all are in use";
  EXPECT_TRUE(table.open(100, 0, 1, 300, owner_at("192.0.2.3"))) << "one was silent";
}

TEST_F(HolderSessions, AnAddressBeyondItsShareReplacesOnlyItsOwn) {
  const auto others = table.open(50, 0, 1, 0, owner_at("192.0.2.2"));  // never used
  open_all("192.0.2.1", 0);
  const auto unused = table.open(60, 0, 1, 0, owner_at("192.0.2.1"));
  EXPECT_FALSE(unused);
  const auto late = table.open(61, 0, 1, 300, owner_at("192.0.2.1"));
  ASSERT_TRUE(late);
  EXPECT_NE(late->replaced->session, others->session);
  EXPECT_TRUE(table.contains(others->session));
}

TEST_F(HolderSessions, AResumedSessionCountsForTheAddressThatResumesIt) {
  const auto opened = table.open(1, 0, 1, 0, owner_at("192.0.2.1"));
  ASSERT_TRUE(table.open(2, opened->session, 1, 0, owner_at("192.0.2.2"))->resumed);
  const auto count_at = [this](const char* address) {
    return table.count_of(owner_of({}, address_of(address)));
  };
  EXPECT_EQ(count_at("192.0.2.1"), 0u);
  EXPECT_EQ(count_at("192.0.2.2"), 1u);
}

TEST(SessionIds, AreDrawnAgainWhenTheyAreZeroOrTaken) {
  const std::vector<std::uint64_t> drawn{0, 9, 9, 0, 9, 4};
  SessionTable table({.sessions_max = 3},
                     [&, next = std::size_t{0}]() mutable { return drawn.at(next++); });
  EXPECT_EQ(table.open(me, 0, 1, 0)->session, 9u);
  EXPECT_EQ(table.open(me, 0, 1, 0)->session, 4u);
}

}  // namespace
}  // namespace starling::stream
