// SPDX-License-Identifier: Apache-2.0
// Tests the hub of WebSockets without sockets and threads: requests and replies, followed streams,
// views, limits and ends. Beast, the handshake and the limits of frames are below MessageLink, and
// raw_frames_test.cpp tests them.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/websocket/socket_hub_world.hpp"

namespace starling::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using zmtp::PrincipalId;

TEST(SocketHub, ARequestThatIsNoWebSocketIsToldToUpgrade) {
  SocketHubWorld world;
  std::vector<HttpHead> heads(5, SocketHubWorld::head_of());
  heads[0].method = "HEAD";
  heads[1].upgrade = "h2c";
  heads[2].connection = "keep-alive";
  heads[3].websocket_version = "8";
  heads[4].websocket_key = "short";
  for (const HttpHead& head : heads) {
    const HttpAnswer answer = world.open(head);
    EXPECT_EQ(answer.status, 426u);
    EXPECT_THAT(answer.fields, ElementsAre(std::pair("Upgrade", "websocket")));
    EXPECT_FALSE(answer.hand_over);
  }
  EXPECT_EQ(world.hub.places().count(), 0u);
}

TEST(SocketHub, AHandedOverConnectionKeepsItsHeadAndTheBytesAfterIt) {
  SocketHubWorld world;
  const HttpAnswer answer =
      world.open(SocketHubWorld::head_of({}, "other, starling.v1, starling.bearer.secret"));
  EXPECT_EQ(answer.status, 101u);
  EXPECT_TRUE(answer.is_headless) << "Beast answers the handshake";
  world.hand_over(answer, "frames");
  world.run();
  ASSERT_EQ(world.sockets.size(), 1u);
  EXPECT_EQ(world.sockets[0]->protocol, "starling.v1");
  EXPECT_TRUE(world.sockets[0]->head.starts_with("GET /v1/ws HTTP/1.1\r\nHost: localhost\r\n"));
  EXPECT_TRUE(world.sockets[0]->head.ends_with("\r\n\r\nframes"));
  EXPECT_THAT(world.sockets[0]->head, Not(HasSubstr("secret")));
  EXPECT_EQ(world.connect().protocol, "") << "the client names none";
}

TEST(SocketHub, SocketsBeyondTheLimitAreRefusedUntilAPlaceIsFree) {
  SocketHubWorld world({.sockets_max = 1});
  FakeSocket& first = world.connect();
  const HttpAnswer refusal = world.open();
  EXPECT_EQ(refusal.status, 503u);
  EXPECT_THAT(refusal.body, HasSubstr("There are as many WebSockets as http-views-max (1) allows"));
  EXPECT_FALSE(refusal.hand_over);
  first.leave();
  EXPECT_EQ(world.open().status, 101u) << "its connection ends before it is handed over";
  EXPECT_EQ(world.hub.places().count(), 0u);
  world.connect();
  EXPECT_EQ(world.open().status, 503u);
}

TEST(SocketHub, AClientWithFewerTakesTheNewestPlaceOfTheOneThatHasTheMost) {
  SocketHubWorld world({.sockets_max = 4});
  constexpr PrincipalId ann{1};
  constexpr PrincipalId bob{2};
  const FakeSocket& oldest = world.connect(ann);
  world.connect(ann);
  const FakeSocket& third = world.connect(ann);
  const HttpAnswer on_its_way = world.open(SocketHubWorld::head_of(ann));
  world.connect(bob);
  world.hand_over(on_its_way);
  world.run();
  EXPECT_EQ(world.sockets.size(), 4u) << "it gave way before it was handed over";
  EXPECT_FALSE(third.code);
  world.connect(bob);
  EXPECT_EQ(third.code, MessageLink::Code::try_again_later);
  EXPECT_EQ(third.reason, "another client takes this place");
  EXPECT_FALSE(oldest.code);
  EXPECT_EQ(world.open(SocketHubWorld::head_of(ann)).status, 503u) << "each has two";
  EXPECT_EQ(world.open(SocketHubWorld::head_of(bob)).status, 503u);
  EXPECT_EQ(world.hub.places().gave_way().count, 2u);
}

TEST(SocketHub, APrincipalHasAsManySocketsAsItsQuotaAllows) {
  SocketHubWorld world;
  constexpr PrincipalId ann{1};
  world.quotas[ann] = 1;
  FakeSocket& first = world.connect(ann);
  const HttpAnswer refusal = world.open(SocketHubWorld::head_of(ann));
  EXPECT_EQ(refusal.status, 503u);
  EXPECT_THAT(refusal.body,
              HasSubstr("You have as many WebSockets as quota.websockets (1) allows"));
  first.leave();
  EXPECT_EQ(world.open(SocketHubWorld::head_of(ann)).status, 101u);
}

TEST(SocketHub, ARequestHasTheAddressOfItsClient) {
  SocketHubWorld world;
  HttpHead head = SocketHubWorld::head_of();
  head.from.peer_address = "192.0.2.7";
  world.hand_over(world.open(head));
  world.run();
  world.sockets.back()->request(1);
  world.run();
  EXPECT_EQ(world.delivered.at(0).peer.address, address_of("192.0.2.7"));
}

TEST(SocketHub, RequestsAreDeliveredInOrderAndRepliesGoToTheirSockets) {
  SocketHubWorld world;
  FakeSocket& first = world.connect(PrincipalId{1});
  FakeSocket& second = world.connect(PrincipalId{2});
  first.request(10);
  first.request(11);
  world.run();
  second.request(20);
  world.run();
  ASSERT_EQ(world.delivered.size(), 3u);
  EXPECT_EQ(world.delivered[0].request_id, 10u);
  EXPECT_EQ(world.delivered[1].request_id, 11u);
  EXPECT_EQ(world.delivered[0].peer, world.delivered[1].peer);
  const Peer& peer = world.delivered[2].peer;
  EXPECT_TRUE(peer.in_process);
  EXPECT_EQ(peer.principal, PrincipalId{2});
  EXPECT_GE(peer.connection, std::uint64_t{1} << 63) << "no connection of the commands endpoint";
  EXPECT_NE(peer.connection, world.delivered[0].peer.connection);
  for (int reply = 0; reply < 3; ++reply) world.reply();
  EXPECT_THAT(first.names(), ElementsAre("done 10", "done 11"));
  EXPECT_THAT(second.names(), ElementsAre("done 20"));
}

TEST(SocketHub, AReplyAfterItsClientHasGoneReachesNobody) {
  SocketHubWorld world;
  FakeSocket& gone = world.connect();
  gone.request(1);
  world.run();
  gone.leave();
  FakeSocket& other = world.connect();
  world.reply();
  EXPECT_THAT(gone.got, IsEmpty());
  EXPECT_THAT(other.got, IsEmpty());
}

TEST(SocketHub, ASocketIsReadOnlyWhileFewRequestsWaitForReplies) {
  SocketHubWorld world({.requests_max = 2});
  FakeSocket& socket = world.connect();
  socket.is_slow = true;
  for (std::uint64_t request = 1; request <= 4; ++request) socket.request(request);
  world.run();
  EXPECT_EQ(world.delivered.size(), 2u);
  world.reply();
  ASSERT_EQ(world.delivered.size(), 2u);
  EXPECT_EQ(world.delivered.back().request_id, 3u);
}

TEST(SocketHub, ASocketIsNotReadWhileManyBytesWaitForItsClient) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.is_slow = true;
  socket.request(1);
  world.run();
  world.reply_long(3u << 19);
  socket.request(2);
  socket.request(3);
  world.run();
  EXPECT_EQ(world.delivered.size(), 1u) << "request 2 was being read";
  socket.is_slow = false;
  world.run();
  EXPECT_EQ(world.delivered.size(), 2u);
}

TEST(SocketHub, AReplyThatIsTooLongIsReplacedByAnError) {
  SocketHubWorld world({.reply_bytes_max = 1000});
  FakeSocket& socket = world.connect();
  socket.request(5);
  world.run();
  world.reply_long(2000);
  ASSERT_THAT(socket.names(), ElementsAre("too_many_rows 5"));
  const protocol::AlignedBytes bytes(socket.got[0]);
  const auto reply = protocol::decode_reply(bytes);
  EXPECT_THAT(std::get<protocol::ErrorReply>(reply.body).problem.sentence,
              HasSubstr("a WebSocket carries at most 1000; ask in smaller parts."));
}

TEST(SocketHub, AMessageThatIsNoRequestIsRefusedAndTheNextOneIsRead) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  const MessageBytes other(64);
  socket.say(other);
  socket.request(2);
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("malformed 0"));
  EXPECT_EQ(world.delivered.size(), 1u);
}

TEST(SocketHub, AFollowerGetsEachTickOfItsStreamsOnceAndInOrder) {
  SocketHubWorld world;
  FakeSocket& early = world.follower();
  world.tick(1);
  FakeSocket& late = world.follower();
  late.ask(2, protocol::Follow{"cars"});
  late.ask(3, protocol::Follow{"bikes"});
  world.run();
  late.got.clear();
  world.publish(2);
  world.publish(1, "bikes");
  world.publish(3);
  world.run();
  EXPECT_THAT(early.names(), ElementsAre("cars 1", "cars 2", "cars 3"));
  EXPECT_THAT(late.names(), ElementsAre("cars 2", "bikes 1", "cars 3"))
      << "it asked for cars twice";
  late.ask(4, protocol::EndFollow{"cars"});
  world.run();
  world.tick(4);
  EXPECT_EQ(late.names().back(), "done 4");
  EXPECT_EQ(early.names().back(), "cars 4");
}

TEST(SocketHub, AFollowIsAnsweredBeforeWhatItsClientAsksNext) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.ask(1, protocol::Follow{"cars"});
  socket.ask(2, protocol::EndFollow{"cars"});
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("done 1", "done 2"));
  EXPECT_FALSE(world.hub.is_following());
  socket.is_slow = true;
  socket.ask(3, protocol::Follow{"cars"});
  socket.ask(4, protocol::EndFollow{"cars"});
  world.run();
  EXPECT_FALSE(world.hub.is_following()) << "it is read although it reads nothing";
}

TEST(SocketHub, AFollowOfAnUnknownStreamIsRefused) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.ask(1, protocol::Follow{"none"});
  socket.ask(2, protocol::EndFollow{"cars"});
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("unknown_stream 1", "done 2"));
  EXPECT_FALSE(world.hub.is_following());
}

TEST(SocketHub, ASocketFollowsAtMostItsLimitOfStreams) {
  SocketHubWorld world({.streams_max = 1});
  FakeSocket& socket = world.follower("cars");
  socket.ask(2, protocol::Follow{"bikes"});
  socket.ask(3, protocol::Follow{"cars"});
  world.run();
  ASSERT_THAT(socket.names(), ElementsAre("too_many_streams 2", "done 3"));
  const protocol::AlignedBytes bytes(socket.got[0]);
  const auto reply = protocol::decode_reply(bytes);
  EXPECT_THAT(std::get<protocol::ErrorReply>(reply.body).problem.sentence,
              HasSubstr("A WebSocket follows at most 1 streams"));
  socket.ask(4, protocol::EndFollow{"cars"});
  world.run();
  EXPECT_FALSE(world.hub.is_following()) << "the refused stream has no follower";
}

TEST(SocketHub, AClientWithoutRightsIsRefusedAndFollowsNothing) {
  SocketHubWorld world;
  world.without_rights = {PrincipalId{4}};
  FakeSocket& socket = world.connect(PrincipalId{4});
  socket.ask(1, protocol::Follow{"cars"});
  socket.ask(2, protocol::View{.rectangle = {0, 0, 1, 1}});
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("not_allowed 1", "not_allowed 2"));
  EXPECT_FALSE(world.hub.is_following());
  EXPECT_EQ(world.hub.counts().views, 0u);
}

TEST(SocketHub, ASlowClientLosesTicksAloneAndTheLossIsCounted) {
  SocketHubWorld world({.follow_bytes_max = SocketHubWorld::four_ticks()});
  FakeSocket& quick = world.follower();
  FakeSocket& slow = world.follower();
  slow.is_slow = true;
  for (std::uint64_t sequence = 1; sequence <= 9; ++sequence) world.tick(sequence);
  EXPECT_EQ(quick.got.size(), 9u);
  const std::uint64_t lost = world.hub.counts().lost_ticks;
  EXPECT_GE(lost, 5u);
  slow.is_slow = false;
  world.run();
  EXPECT_EQ(slow.got.size(), 9 - lost);
  EXPECT_EQ(slow.names().front(), "cars 1");
  world.tick(10);
  EXPECT_EQ(slow.names().back(), "cars 10") << "the sequence numbers show the client its gap";
}

TEST(SocketHub, TicksAreLostForAllFollowersIfTheThreadFallsBehind) {
  SocketHubWorld world({.follow_bytes_max = SocketHubWorld::four_ticks()});
  const FakeSocket& first = world.follower();
  const FakeSocket& second = world.follower();
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) world.publish(sequence);
  world.run();
  EXPECT_THAT(first.names(), ElementsAre("cars 1", "cars 2", "cars 3", "cars 4"));
  EXPECT_EQ(second.names(), first.names());
  EXPECT_EQ(world.hub.counts().lost_ticks, 4u);
  world.tick(7);
  EXPECT_EQ(first.names().back(), "cars 7");
}

TEST(SocketHub, TheLastTickOfARemovedStreamEndsItsFollowers) {
  SocketHubWorld world;
  const FakeSocket& socket = world.follower();
  world.publish_last(1);
  world.run();
  EXPECT_FALSE(world.hub.is_following());
  world.tick(1);
  EXPECT_THAT(socket.names(), ElementsAre("cars 1 removed with 2 lists"))
      << "a new stream has the name";
}

TEST(SocketHub, ASlowClientThatLosesTheLastTickLearnsThatTheStreamIsRemoved) {
  SocketHubWorld world({.follow_bytes_max = SocketHubWorld::four_ticks()});
  const FakeSocket& quick = world.follower();
  FakeSocket& slow = world.follower();
  slow.is_slow = true;
  for (std::uint64_t sequence = 1; sequence <= 9; ++sequence) world.tick(sequence);
  const std::uint64_t lost = world.hub.counts().lost_ticks;
  world.publish_last(10);
  world.run();
  EXPECT_FALSE(world.hub.is_following());
  EXPECT_EQ(world.hub.counts().lost_ticks, lost + 1);
  slow.is_slow = false;
  world.run();
  EXPECT_EQ(quick.names().back(), "cars 10 removed with 2 lists");
  EXPECT_EQ(slow.names().back(), "cars 10 removed") << "the header alone";
  slow.ask(2, protocol::Follow{"cars"});
  world.run();
  world.tick(11);
  EXPECT_EQ(slow.names().back(), "cars 11") << "the stream was put again";
}

TEST(SocketHub, ALastTickThatIsLostForAllFollowersTellsThemThatTheStreamIsRemoved) {
  SocketHubWorld world({.follow_bytes_max = SocketHubWorld::four_ticks()});
  const FakeSocket& socket = world.follower();
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) world.publish(sequence);
  world.publish_last(6);
  world.run();
  EXPECT_THAT(socket.names(),
              ElementsAre("cars 1", "cars 2", "cars 3", "cars 4", "cars 6 removed"));
  EXPECT_FALSE(world.hub.is_following());
}

TEST(SocketHub, AFollowWhoseClientHasGoneIsGivenBack) {
  SocketHubWorld world;
  FakeSocket& gone = world.connect();
  gone.ask(1, protocol::Follow{"cars"});
  gone.turn();
  gone.leave();
  world.run();
  EXPECT_FALSE(world.hub.is_following());
  world.follower().leave();
  world.run();
  EXPECT_FALSE(world.hub.is_following()) << "this one had its answer";
}

TEST(SocketHub, ACutEndsThePrincipalsSocketsAlsoThoseOnTheirWay) {
  SocketHubWorld world;
  constexpr PrincipalId ann{1};
  constexpr PrincipalId bob{2};
  const FakeSocket& anns = world.connect(ann);
  const FakeSocket& bobs = world.connect(bob);
  const HttpAnswer answered = world.open(SocketHubWorld::head_of(ann));
  world.hand_over(world.open(SocketHubWorld::head_of(ann)));
  world.hub.cut([&](PrincipalId id) { return id == ann; });
  world.run();
  world.hand_over(answered);
  world.run();
  EXPECT_EQ(anns.code, MessageLink::Code::policy_error);
  EXPECT_EQ(anns.reason, "the token or its rights changed");
  EXPECT_TRUE(anns.is_ended);
  EXPECT_FALSE(bobs.code);
  ASSERT_EQ(world.sockets.size(), 3u) << "one was answered before the cut and handed over after it";
  EXPECT_TRUE(world.sockets[2]->is_ended) << "it was handed over, but not yet served";
  EXPECT_FALSE(world.connect(ann).code) << "a new socket";
}

TEST(SocketHub, CloseEndsAllSocketsAndDeliversNothingMore) {
  SocketHubWorld world;
  FakeSocket& socket = world.follower();
  socket.request(2);
  world.run();
  const HttpAnswer answered = world.open();
  socket.request(3);
  socket.turn();
  world.thread.run();
  world.hub.close();
  world.run();
  EXPECT_EQ(socket.code, MessageLink::Code::going_away);
  EXPECT_EQ(world.delivered.size(), 1u);
  world.hand_over(answered);
  world.run();
  EXPECT_EQ(world.sockets.size(), 1u);
  world.reply();
  world.tick(1);
  EXPECT_THAT(socket.got, IsEmpty());
}

TEST(SocketHub, AfterCloseAClientIsToldThatTheServerStops) {
  SocketHubWorld world;
  world.hub.close();
  const HttpAnswer refusal = world.open();
  EXPECT_EQ(refusal.status, 503u);
  EXPECT_THAT(refusal.fields, ElementsAre(std::pair("Retry-After", "1")));
  EXPECT_THAT(refusal.body, HasSubstr("\"code\":\"shutting_down\""));
  EXPECT_THAT(refusal.body, HasSubstr("The server is stopping"));
  EXPECT_THAT(refusal.body, Not(HasSubstr("http-views-max")));
  EXPECT_FALSE(refusal.hand_over);
}

TEST(SocketHub, SocketsAreWatchedFourTimesASecondAlsoAfterAPauseWithoutAny) {
  SocketHubWorld world;
  world.connect().leave();
  world.pass(1'000'000);
  const FakeSocket& socket = world.connect();
  for (int quarter = 1; quarter <= 4; ++quarter) {
    world.pass(250'000);
    EXPECT_EQ(socket.beats, quarter);
  }
}

const protocol::View one_a_second{.rectangle = {-10, -10, 10, 10}, .ticks_per_s = 1};

TEST(SocketHub, AViewIsShownAtItsRateAndWithTheNewestPositions) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.ask(1, one_a_second);
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("done 1", "view of tick 0"));
  EXPECT_EQ(world.hub.counts().views, 1u);
  for (std::uint64_t tick = 1; tick <= 5; ++tick) {
    world.show_tick(tick);
    world.run();
  }
  EXPECT_THAT(socket.names(), ElementsAre("done 1", "view of tick 0", "view of tick 1"))
      << "the first one may be early, the others not";
  world.pass(1'000'000);
  EXPECT_EQ(socket.names().back(), "view of tick 5");
  EXPECT_EQ(socket.got.size(), 4u);
  world.pass(1'000'000);
  EXPECT_EQ(socket.got.size(), 4u) << "there was no tick";
}

TEST(SocketHub, AViewWaitsForASlowClientAndThenShowsOnlyTheNewestPositions) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.is_slow = true;
  socket.ask(1, one_a_second);
  world.run();
  for (std::uint64_t tick = 1; tick <= 5; ++tick) {
    world.show_tick(tick);
    world.pass(1'000'000);
  }
  socket.is_slow = false;
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("done 1", "view of tick 0", "view of tick 5"));
}

TEST(SocketHub, AThreadThatFallsBehindShowsOnlyTheNewestPositions) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.ask(1, one_a_second);
  world.run();
  for (std::uint64_t tick = 1; tick <= 3; ++tick) world.show_tick(tick);
  world.run();
  EXPECT_THAT(socket.names(), ElementsAre("done 1", "view of tick 0", "view of tick 3"));
}

TEST(SocketHub, AViewThatEndsIsShownNoMore) {
  SocketHubWorld world;
  FakeSocket& socket = world.connect();
  socket.ask(1, one_a_second);
  world.run();
  for (std::uint64_t tick = 1; tick <= 2; ++tick) {
    world.show_tick(tick);
    world.run();
  }
  socket.ask(2, protocol::EndView{});
  world.run();
  world.pass(1'000'000);
  world.show_tick(3);
  world.pass(1'000'000);
  EXPECT_THAT(socket.names(), ElementsAre("done 1", "view of tick 0", "view of tick 1", "done 2"))
      << "tick 2 waited for its time";
  EXPECT_EQ(world.hub.counts().views, 0u);
  socket.ask(3, one_a_second);
  world.run();
  EXPECT_EQ(world.hub.counts().views, 1u);
  EXPECT_EQ(socket.names().back(), "view of tick 3") << "a new view";
}

}  // namespace
}  // namespace starling::stream
