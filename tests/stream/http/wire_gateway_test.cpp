// SPDX-License-Identifier: Apache-2.0
// Tests the gateway from HTTP to the wire: its sessions, the order and numbers of its requests, and
// what it does with replies.
#include "starling/stream/http/wire_gateway.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/http/fake_wire.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using zmtp::PrincipalId;

/// Returns what a reply is, for example "done" or "busy".
std::string reply_name(const protocol::ReplyBody& reply) {
  const auto* error = std::get_if<protocol::ErrorReply>(&reply);
  return error == nullptr ? "done" : std::string(to_string(error->problem.code));
}

class GatewayWorld {
 public:
  void put(const std::string& stream, const WireSender& sender = {}) {
    gateway.send([stream] { return protocol::PutStream{.name = stream}; },
                 [this, stream](const protocol::ReplyBody& reply) {
                   taken.push_back(stream + " " + reply_name(reply));
                 },
                 sender);
  }
  void ask(const std::string& name) {
    gateway.send([] { return protocol::GetStats{}; },
                 [this, name](const protocol::ReplyBody& reply) {
                   taken.push_back(name + " " + reply_name(reply));
                 });
  }
  void run() {
    loop.restart();
    loop.poll();
  }
  /// Opens the gateway's first session.
  void open(std::uint64_t session = 40) {
    ask("first");
    wire.open(session);
    run();
    wire.done();
    run();
    taken.clear();
  }
  std::vector<std::uint64_t> sequences() const {
    std::vector<std::uint64_t> all;
    for (const auto& request : wire.sent) all.push_back(request->head().sequence);
    return all;
  }

  boost::asio::io_context loop;
  std::vector<std::string> taken;
  FakeWire wire{[this](PrincipalId, std::span<const std::byte> frame) { gateway.replied(frame); }};
  WireGateway gateway{loop, wire.deliver(), PrincipalId{3}};
};

TEST(WireGateway, RequestsWaitForTheFirstSessionAndKeepTheirOrder) {
  GatewayWorld world;
  for (const char* name : {"a", "b"}) world.ask(name);
  ASSERT_EQ(world.wire.sent.size(), 1u) << "one Hello for all";
  world.wire.open(40);
  EXPECT_EQ(world.wire.sent.size(), 0u) << "a reply is taken in a later turn of the loop";
  world.run();
  ASSERT_EQ(world.wire.sent.size(), 2u);
  for (const auto& request : world.wire.sent) {
    EXPECT_EQ(request->head().session, 40u);
    EXPECT_EQ(request->peer, (Peer{.in_process = true, .principal = PrincipalId{3}}));
  }
  world.wire.done();
  world.wire.done();
  EXPECT_THAT(world.taken, IsEmpty());
  world.run();
  EXPECT_THAT(world.taken, ElementsAre("a done", "b done"));
}

TEST(WireGateway, ARefusedSessionIsToldToAllAndTriedAgainByTheNext) {
  GatewayWorld world;
  world.put("a");
  world.ask("b");
  world.wire.refuse(ErrorCode::too_many_sessions);
  world.run();
  EXPECT_THAT(world.taken, ElementsAre("a too_many_sessions", "b too_many_sessions"));
  world.ask("c");
  world.wire.open(41);
  world.run();
  EXPECT_EQ(world.wire.sent.size(), 1u);
}

TEST(WireGateway, OneChangeIsSentAtATimeAndQuestionsDoNotWaitForIt) {
  GatewayWorld world;
  world.open();
  world.put("a");
  world.put("b");
  world.ask("c");
  EXPECT_THAT(world.sequences(), ElementsAre(1, 0));
  world.wire.done();
  world.run();
  EXPECT_THAT(world.sequences(), ElementsAre(0, 2));
  EXPECT_EQ(world.wire.sent.back()->as<protocol::PutStream>().name, "b");
  EXPECT_THAT(world.taken, ElementsAre("a done"));
}

TEST(WireGateway, ARefusedChangeLeavesItsNumberToTheNextUnlessItIsUsedUp) {
  GatewayWorld world;
  world.open();
  for (const char* name : {"a", "b", "c"}) world.put(name);
  world.wire.refuse(ErrorCode::busy, 1);
  world.run();
  EXPECT_THAT(world.sequences(), ElementsAre(1));
  world.wire.refuse(ErrorCode::bad_value, 2);
  world.run();
  EXPECT_THAT(world.sequences(), ElementsAre(2));
  EXPECT_THAT(world.taken, ElementsAre("a busy", "b bad_value"));
}

TEST(WireGateway, RequestsOfAForgottenSessionAreSentOnceMoreInOneNewSession) {
  GatewayWorld world;
  world.open(40);
  world.put("a");
  world.put("b");
  world.ask("c");
  world.ask("d");
  world.ask("e");
  for (int request = 0; request < 3; ++request) world.wire.refuse(ErrorCode::unknown_session);
  world.run();
  const auto late = world.wire.next();
  ASSERT_EQ(world.wire.sent.size(), 1u) << "one Hello for all";
  world.wire.open(41, 6);
  world.run();
  world.wire.answer(*late, [](const auto& head) {
    return protocol::encode_error(head, {.problem = {ErrorCode::unknown_session, "No.", {}}});
  });
  world.run();
  ASSERT_EQ(world.wire.sent.size(), 4u) << "no Hello for the late refusal";
  for (const auto& request : world.wire.sent) EXPECT_EQ(request->head().session, 41u);
  EXPECT_THAT(world.sequences(), ElementsAre(0, 0, 7, 0)) << "the new session's numbers";
  world.wire.done();
  world.wire.done();
  world.wire.refuse(ErrorCode::unknown_session);
  world.run();
  EXPECT_THAT(world.taken, ElementsAre("c done", "d done", "a unknown_session"))
      << "a request is sent twice at most";
}

TEST(WireGateway, AChangeOfAForgottenSessionIsSentAgainAlsoIfItsRefusalComesLate) {
  GatewayWorld world;
  world.open(40);
  world.put("a");
  world.ask("b");
  const auto change = world.wire.next();
  world.wire.refuse(ErrorCode::unknown_session);
  world.run();
  world.wire.open(41);
  world.run();
  world.wire.done();
  world.wire.answer(*change, [](const auto& head) {
    return protocol::encode_error(head, {.problem = {ErrorCode::unknown_session, "No.", {}}});
  });
  world.run();
  ASSERT_EQ(world.wire.sent.size(), 1u);
  EXPECT_EQ(world.wire.sent[0]->head().session, 41u);
  world.wire.done();
  world.run();
  EXPECT_THAT(world.taken, ElementsAre("b done", "a done"));
}

TEST(WireGateway, AReplyThatNoRequestWaitsForIsDropped) {
  GatewayWorld world;
  world.open();
  world.ask("a");
  const auto request = world.wire.next();
  const auto reply = [&](std::uint64_t request_id) {
    world.gateway.replied(protocol::encode_done({.request_id = request_id}).bytes());
    world.run();
  };
  reply(request->head().request_id + 1);
  EXPECT_THAT(world.taken, IsEmpty());
  reply(request->head().request_id);
  reply(request->head().request_id);
  EXPECT_THAT(world.taken, ElementsAre("a done"));
}

TEST(WireGateway, TheMemoryOfAReplyCanBeKeptWhileItIsTaken) {
  GatewayWorld world;
  world.open();
  std::shared_ptr<const void> kept;
  std::string_view name;
  world.gateway.send([] { return protocol::GetStats{}; },
                     [&](const protocol::ReplyBody& reply) {
                       kept = world.gateway.reply_owner();
                       name = std::get<protocol::Stats>(reply).counters.at(0).name;
                     });
  world.wire.answer(*world.wire.next(), [](const auto& head) {
    return protocol::encode_stats(head, {.counters = {{.name = "a counter", .value = 1}}});
  });
  world.run();
  EXPECT_EQ(world.gateway.reply_owner(), nullptr);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept.use_count(), 1) << "nothing else keeps the reply";
  EXPECT_EQ(name, "a counter");
}

TEST(WireGateway, AChangeWhoseClientNoLongerWaitsIsNotSent) {
  GatewayWorld world;
  world.open();
  world.put("a");
  const auto wait = std::make_shared<HttpWait>();
  world.put("b", {.wait = wait});
  world.put("c");
  wait->end();
  world.wire.done();
  world.run();
  EXPECT_EQ(world.wire.sent.back()->as<protocol::PutStream>().name, "c");
  EXPECT_THAT(world.sequences(), ElementsAre(2)) << "the dropped change has no number";
  world.wire.done();
  world.run();
  EXPECT_THAT(world.taken, ElementsAre("a done", "c done"));
}

TEST(WireGateway, ChangesOfOneOwnerDelayThoseOfAnotherByOne) {
  GatewayWorld world;
  world.open();
  const auto of = [](std::uint64_t number) {
    return WireSender{.payer = {.owner = {.number = number}}};
  };
  for (const char* name : {"a", "b", "c", "d"}) world.put(name, of(1));
  world.put("other", of(2));
  for (int change = 0; change < 5; ++change) {
    world.wire.done();
    world.run();
  }
  EXPECT_THAT(world.taken, ElementsAre("a done", "other done", "b done", "c done", "d done"));
}

TEST(WireGateway, TheLastChangeOfTheOwnerWithTheMostIsRefusedIfTooManyWait) {
  GatewayWorld world;
  world.open();
  const WireSender other{.payer = {.owner = {.number = 2}}};
  for (std::size_t i = 0; i <= WireGateway::waiting_max; ++i) world.put(std::to_string(i));
  world.put("other", other);
  world.run();
  EXPECT_THAT(world.taken, ElementsAre(std::to_string(WireGateway::waiting_max) + " busy"));
}

}  // namespace
}  // namespace starling::stream
