// SPDX-License-Identifier: Apache-2.0
// Tests bearer tokens: what a WebSocket does with them, what guesses cost, and what ends when a
// principal is removed from the keys file.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/stream/access/access_world.hpp"
#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/socket_client.hpp"

namespace starling::stream {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using ::testing::HasSubstr;

constexpr unsigned policy_error = 1008;  // RFC 6455
constexpr auto revocation_max = 1s;

class Tokens : public ::testing::Test {
 protected:
  Tokens()
      : world({someone("a", {Role::query, Role::subscribe}), someone("b", {Role::stats}),
               someone("c", {Role::query, Role::subscribe})},
              options()) {
    HttpClient http(world.http());
    EXPECT_EQ(http.ask("PUT", "/v1/streams/s", "{}", fields("a")).status, 200u);
  }

  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.tick_period_us = 10'000;
    return options;
  }
  static HttpClient::Fields fields(const std::string& name) {
    return {{"Authorization", "Bearer " + AccessWorld::token_of(name)},
            {"Content-Type", "application/json"}};
  }
  SocketClient socket(const std::string& protocols) const {
    return SocketClient(SocketClient::Options{.endpoint = world.http(), .protocols = protocols});
  }
  SocketClient socket_of(const std::string& name) const {
    return socket("starling.v1, starling.bearer." + AccessWorld::token_of(name));
  }
  static ErrorCode error_of(const SocketBytes& reply) {
    const auto decoded = protocol::decode_reply(protocol::AlignedBytes(reply));
    const auto* error = std::get_if<protocol::ErrorReply>(&decoded.body);
    return error == nullptr ? ErrorCode::none : error->problem.code;
  }

  AccessWorld world;
};

TEST_F(Tokens, AWebSocketShowsItsTokenAsAProtocolAndTheServerDoesNotRepeatIt) {
  SocketClient known = socket_of("a");
  EXPECT_EQ(known.connect(), 101u);
  EXPECT_EQ(known.protocol(), "starling.v1");
  EXPECT_EQ(error_of(known.reply(known.ask(protocol::Follow{"s"}))), ErrorCode::none);
  EXPECT_EQ(error_of(known.reply(known.ask(protocol::View{.rectangle = {0, 0, 1, 1}}))),
            ErrorCode::none);
  for (const char* protocols :
       {"", "starling.v1", "starling.v1, starling.bearer.", "starling.v1, starling.bearer.wrong"})
    EXPECT_EQ(socket(protocols).connect(), 401u) << protocols;
}

TEST_F(Tokens, WhatAWebSocketAsksNeedsItsRoles) {
  SocketClient other = socket_of("b");
  ASSERT_EQ(other.connect(), 101u);
  world.audited();
  EXPECT_EQ(error_of(other.reply(other.ask(protocol::Follow{"s"}))), ErrorCode::not_allowed);
  EXPECT_EQ(error_of(other.reply(other.ask(protocol::View{.rectangle = {0, 0, 1, 1}}))),
            ErrorCode::not_allowed);
  const auto audited = world.audited();
  ASSERT_EQ(audited.size(), 2u);
  EXPECT_EQ(audited[0].request, "Follow");
  EXPECT_EQ(audited[1].request, "View");
}

TEST_F(Tokens, ARevokedTokenEndsWebSocketAndEventsWithinASecondAndOthersGoOn) {
  SocketClient cut = socket_of("a");
  SocketClient stays = socket_of("c");
  ASSERT_EQ(cut.connect(), 101u);
  ASSERT_EQ(stays.connect(), 101u);
  EventClient events({.endpoint = world.http(), .stream = "s", .fields = fields("a")});
  ASSERT_EQ(events.connect(), 200u);
  const auto since = std::chrono::steady_clock::now();
  world.revoke("a");
  EXPECT_EQ(cut.read_to_end(), policy_error);
  EXPECT_LT(std::chrono::steady_clock::now() - since, revocation_max);
  EXPECT_TRUE(events.read_to_end());
  EXPECT_LT(std::chrono::steady_clock::now() - since, revocation_max);
  HttpClient http(world.http());
  EXPECT_EQ(http.ask("GET", "/v1/streams", "", fields("a")).status, 401u);
  EXPECT_EQ(events.connect(), 401u);
  EXPECT_EQ(http.ask("GET", "/v1/streams", "", fields("c")).status, 200u);
  EXPECT_EQ(error_of(stays.reply(stays.ask(protocol::Follow{"s"}))), ErrorCode::none);
}

TEST(TokenGuesses, AreAnsweredWithTooManyRequestsAndARightTokenStillPasses) {
  AccessWorld world({someone("a", {Role::stats})});
  HttpClient http(world.http());
  unsigned unauthorized = 0;
  HttpReply last;
  for (int guess = 0; guess < 100; ++guess) {
    last = http.ask("GET", "/v1/stats", "",
                    {{"Authorization", "Bearer guess-" + std::to_string(guess)}});
    if (last.status == 401) ++unauthorized;
  }
  EXPECT_LE(unauthorized, 20u);
  EXPECT_EQ(last.status, 429u);
  EXPECT_THAT(last.body, HasSubstr("Try again in a second"));
  EXPECT_EQ(
      http.ask("GET", "/v1/stats", "", {{"Authorization", "Bearer " + AccessWorld::token_of("a")}})
          .status,
      200u);
}

}  // namespace
}  // namespace starling::stream
