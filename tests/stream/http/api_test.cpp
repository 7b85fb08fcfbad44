// SPDX-License-Identifier: Apache-2.0
// Tests the routes of the HTTP endpoint without sockets: a question becomes a request of the wire,
// and its reply an answer. The last tests put the tables and the families of requests behind them.
#include "starling/stream/http/api.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/http/routes_world.hpp"
#include "tests/stream/requests/request_world.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::RowReason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HttpApi, AQuestionBecomesARequestOfTheWireAndItsReplyAnAnswer) {
  ApiWorld world;
  const auto asked = world.ask("GET", "/v1/neighbors?k=3&x=1.5&y=-2&distance_max_m=7&at=55");
  ASSERT_EQ(world.wire.sent.size(), 1u);
  const auto request = world.wire.next();
  const auto& neighbors = request->as<protocol::GetNeighbors>();
  ASSERT_EQ(neighbors.questions.size(), 1u);
  EXPECT_EQ(neighbors.questions[0].k, 3u);
  EXPECT_EQ(neighbors.questions[0].position, (Position{1.5, -2, 0}));
  EXPECT_EQ(neighbors.questions[0].distance_max_m, 7);
  EXPECT_EQ(neighbors.at_us, 55);
  EXPECT_THAT(asked->answers, IsEmpty());
  const std::vector<QueryReport> lists(1);
  world.wire.answer(*request, [&](const auto& head) {
    return protocol::encode_neighbors(head, {.epoch = 1, .tick = Tick{9}, .tau_us = 50},
                                      {.reports = lists, .with = {}});
  });
  world.run();
  EXPECT_EQ(asked->status(), 200u);
  EXPECT_EQ(asked->body(), "{\"tick\":9,\"time_us\":50,\"neighbors\":[]}\n");
}

TEST(HttpApi, ARefusalHasTheStatusAndTheSentenceOfItsCode) {
  for (const auto& [code, status] :
       {std::pair(ErrorCode::bad_value, 400u), std::pair(ErrorCode::k_out_of_range, 400u),
        std::pair(ErrorCode::not_allowed, 403u), std::pair(ErrorCode::unknown_stream, 404u),
        std::pair(ErrorCode::too_many_rows, 413u), std::pair(ErrorCode::too_many_streams, 429u),
        std::pair(ErrorCode::busy, 503u), std::pair(ErrorCode::shutting_down, 503u)}) {
    ApiWorld world;
    const auto asked = world.ask("PUT", "/v1/streams/cars", "{}");
    EXPECT_EQ(world.wire.sent.at(0)->as<protocol::PutStream>().name, "cars");
    world.wire.refuse({{code, "Query 0: no.", {"streams-max", 8}}, 0});
    world.run();
    EXPECT_EQ(asked->status(), status) << to_string(code);
    EXPECT_THAT(asked->body(), HasSubstr("\"code\":\"" + std::string(to_string(code)) + "\""));
    EXPECT_THAT(asked->body(), HasSubstr("\"limit\":\"streams-max\",\"limit_value\":8"));
    const bool is_temporary = status == 429 || status == 503;
    EXPECT_EQ(asked->answers.at(0).fields.empty(), !is_temporary) << "Retry-After";
  }
}

TEST(HttpApi, ARejectedRowHasTheStatusOfItsReason) {
  const protocol::ReachedLimit limit{"queries-max", 5};
  for (const auto& [reason, status] :
       {std::pair(protocol::ReasonCount{RowReason::unknown_query, 1}, 404u),
        std::pair(protocol::ReasonCount{RowReason::not_owner, 1}, 403u),
        std::pair(protocol::ReasonCount{RowReason::too_many_queries, 1, limit}, 429u),
        std::pair(protocol::ReasonCount{RowReason::position_not_finite, 1}, 400u)}) {
    ApiWorld world;
    const auto asked = world.ask("PUT", "/v1/streams/cars/queries/5", R"({"k":1,"x":0,"y":0})");
    world.wire.batch({.rejected = 1, .reasons = {reason}});
    world.run();
    EXPECT_EQ(asked->status(), status) << to_string(reason.reason);
    EXPECT_THAT(asked->body(),
                HasSubstr("The query is refused: " + std::string(to_string(reason.reason))));
  }
}

/// Returns a body of this many objects.
std::string objects_text(int count) {
  std::string text;
  for (int id = 0; id < count; ++id)
    text += (id == 0 ? "[" : ",") + std::string("{\"id\":\"") + std::to_string(id) +
            "\",\"x\":1,\"y\":2,\"time\":10}";
  return text + "]";
}

TEST(HttpApi, ALongBodyIsSentInBatchesOneAfterAnother) {
  ApiWorld world;
  const auto asked = world.ask("POST", "/v1/objects", objects_text(40'000));
  std::uint64_t rows = 0;
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    ASSERT_EQ(world.wire.sent.size(), 1u);
    const auto& batch = world.wire.sent[0]->as<protocol::UpdateBatch>();
    EXPECT_EQ(world.wire.sent[0]->head().sequence, sequence);
    EXPECT_EQ(batch.ids.front(), rows);
    rows += batch.ids.size();
    EXPECT_LE(batch.ids.size(), 16'384u);
    EXPECT_THAT(asked->answers, IsEmpty());
    const bool is_last = sequence == 3;
    world.wire.batch({.accepted = batch.ids.size() - (is_last ? 1 : 0),
                      .rejected = is_last ? 1u : 0u,
                      .reasons = {{RowReason::future, 1}},
                      .first_rejected = {{.index = 7, .reason = RowReason::future}}});
    world.run();
  }
  EXPECT_EQ(rows, 40'000u);
  EXPECT_EQ(asked->status(), 200u);
  EXPECT_THAT(asked->body(), HasSubstr("\"accepted\":39999,\"late\":0,\"rejected\":1"));
  EXPECT_THAT(asked->body(), HasSubstr("{\"index\":32775,\"reason\":\"future\"}"))
      << "the index in the body";
}

TEST(HttpApi, ARefusalAmidALongBodySaysWhatWasTaken) {
  ApiWorld world;
  const auto asked = world.ask("POST", "/v1/objects", objects_text(40'000));
  world.wire.batch({.accepted = 16'384});
  world.run();
  world.wire.refuse(ErrorCode::out_of_credit, 2);
  world.run();
  EXPECT_EQ(asked->status(), 429u);
  EXPECT_THAT(asked->body(),
              HasSubstr("No. Before that, the server took the first 16384 objects of the body"));
  EXPECT_TRUE(world.wire.sent.empty()) << "no further batch";
}

TEST(HttpApi, ReplyToACallerThatHasGoneLetsTheNextChangePass) {
  ApiWorld world;
  std::weak_ptr<HttpAsked> gone = world.ask("PUT", "/v1/streams/cars", "{}");
  const auto next = world.ask("PUT", "/v1/streams/bikes", "{}");
  ASSERT_EQ(world.wire.sent.size(), 1u);
  world.wire.done();
  world.run();
  EXPECT_TRUE(gone.expired()) << "nothing keeps its answer";
  ASSERT_EQ(world.wire.sent.size(), 1u);
  EXPECT_EQ(world.wire.sent[0]->as<protocol::PutStream>().name, "bikes");
  world.wire.done();
  world.run();
  EXPECT_EQ(next->status(), 200u);
}

TEST(HttpApi, BadRequestsAreRefusedBeforeAnythingIsSent) {
  ApiWorld world;
  EXPECT_EQ(world.ask("GET", "/v1/nothing")->status(), 404u);
  const auto wrong_method = world.ask("DELETE", "/v1/neighbors");
  EXPECT_EQ(wrong_method->status(), 405u);
  EXPECT_THAT(wrong_method->answers.at(0).fields,
              ElementsAre(std::pair("Allow", "GET, HEAD, POST")));
  EXPECT_EQ(world.ask("GET", "/v1/neighbors?x=1&y=2")->status(), 400u) << "k is missing";
  EXPECT_EQ(world.ask("GET", "/v1/neighbors?k=1&x=1&y=2&z=3")->status(), 400u) << "z is unknown";
  EXPECT_EQ(world.ask("DELETE", "/v1/objects/5")->status(), 400u) << "there was no tick";
  HttpRequest request = http_request("PUT", "/v1/streams/cars", "{}");
  request.head.has_length = false;
  EXPECT_EQ(world.ask(request)->status(), 411u);
  request = http_request("PUT", "/v1/streams/cars", "{}");
  request.head.content_type = "text/plain";
  EXPECT_EQ(world.ask(request)->status(), 415u);
  request = http_request("GET", "/v1/stats");
  request.head.host = "evil.example";
  EXPECT_EQ(world.ask(request)->status(), 421u);
  request = http_request("GET", "/v1/streams/cars/events");
  request.head.origin = "http://evil.example";
  EXPECT_EQ(world.ask(request)->status(), 403u);
  EXPECT_TRUE(world.wire.sent.empty());
  EXPECT_EQ(world.sessions, 0u);
  EXPECT_THAT(world.routes.followed, IsEmpty());
}

/// A keys file of ann, who may ask and subscribe to streams a*, and bob, who may publish.
class KeysOfTwo {
 public:
  KeysOfTwo() { write(true); }

  void write(bool has_ann) const {
    std::string text = principal("bob", "roles = [\"publish\"]\n");
    if (has_ann)
      text += principal("ann", "roles = [\"query\", \"subscribe\"]\nstreams = [\"a*\"]\n");
    folder.write(text);
  }

  KeysFolder folder;

 private:
  static std::string principal(const std::string& name, const std::string& members) {
    return "[[principal]]\nname = \"" + name + "\"\ntoken_sha256 = \"" +
           sha256_text("token of " + name) + "\"\n" + members;
  }
};

TEST(HttpApi, ARequestWithoutTheRightIsRefusedBeforeAnythingIsSent) {
  const KeysOfTwo keys;
  Access access(keys.folder.path(), {});
  ApiWorld world(&access);
  const auto none = world.ask("GET", "/v1/neighbors?k=1&x=0&y=0");
  EXPECT_EQ(none->status(), 401u);
  EXPECT_THAT(none->body(), HasSubstr("This server has keys."));
  const auto wrong = world.ask("GET", "/v1/neighbors?k=1&x=0&y=0", "", "another token");
  EXPECT_EQ(wrong->status(), 401u);
  EXPECT_THAT(wrong->body(), HasSubstr("does not know this token"));
  EXPECT_EQ(world.routes.api.refused_count(), 2u);
  const auto lacks = world.ask("GET", "/v1/neighbors?k=1&x=0&y=0", "", "token of bob");
  EXPECT_EQ(lacks->status(), 403u);
  EXPECT_THAT(lacks->body(), HasSubstr("query"));
  EXPECT_EQ(world.ask("GET", "/v1/streams/cars/events", "", "token of ann")->status(), 403u);
  EXPECT_EQ(world.ask("GET", "/v1/streams/cars", "", "token of ann")->status(), 403u);
  EXPECT_TRUE(world.wire.sent.empty());
  EXPECT_THAT(world.routes.followed, IsEmpty());
  world.ask("GET", "/v1/streams/apes/events", "", "token of ann");
  EXPECT_THAT(world.routes.followed, ElementsAre("events of apes after "));
}

TEST(HttpApi, EachPrincipalHasASessionOfItsOwnAndGetsItsOwnReplies) {
  const KeysOfTwo keys;
  Access access(keys.folder.path(), {});
  ApiWorld world(&access);
  const auto anns = world.ask("GET", "/v1/objects/5", "", "token of ann");
  const auto bobs = world.ask("POST", "/v1/objects", objects_text(1), "token of bob");
  ASSERT_EQ(world.wire.sent.size(), 2u);
  EXPECT_EQ(world.sessions, 2u);
  EXPECT_NE(world.wire.sent[0]->head().session, world.wire.sent[1]->head().session);
  EXPECT_EQ(world.wire.sent[0]->peer.principal, access.ring().id_of("ann"));
  EXPECT_EQ(world.wire.sent[1]->peer.principal, access.ring().id_of("bob"));
  EXPECT_EQ(world.wire.sent[0]->head().request_id, world.wire.sent[1]->head().request_id)
      << "only the principal tells the replies apart";
  world.wire.refuse(ErrorCode::busy);
  world.run();
  EXPECT_EQ(anns->status(), 503u);
  EXPECT_THAT(bobs->answers, IsEmpty());
}

TEST(HttpApi, ATokenThatIsRevokedWhileTheBodyComesIsRefused) {
  const KeysOfTwo keys;
  Access access(keys.folder.path(), {});
  ApiWorld world(&access);
  HttpRequest request = http_request("PUT", "/v1/streams/apes", "{}", "token of ann");
  ASSERT_FALSE(world.routes.api.admit(request.head));
  keys.write(false);
  ASSERT_EQ(access.reload().size(), 1u);
  const auto asked = std::make_shared<HttpAsked>();
  world.routes.handle(request, asked);
  world.run();
  EXPECT_EQ(asked->status(), 401u);
  EXPECT_THAT(asked->body(), HasSubstr("The token was revoked meanwhile."));
  EXPECT_TRUE(world.wire.sent.empty());
}

/// The routes over the tables and the families of requests.
class ServedRoutes {
 public:
  HttpAnswer ask(const std::string& method, const std::string& target,
                 const std::string& body = "") {
    const auto asked = routes.ask(method, target, body);
    EXPECT_TRUE(world.executor.run_until([&] {
      while (step()) continue;
      return !asked->answers.empty();
    })) << "no answer";
    return asked->answers.at(0);
  }
  void tick(std::int64_t tau_us) {
    world.hello();
    world.tick(tau_us);
    replied_ = world.replies.size();
  }

  RequestWorld world;
  RoutesWorld routes{[this](const Peer& peer, ReceivedBytes received) {
    world.requests.handle(peer, prepare_request(std::move(received), {}, space_, world.credit(),
                                                std::make_shared<Principal>(everybody())));
  }};

 private:
  /// Returns false if nothing is to do.
  bool step() {
    world.tables().updates().apply();
    bool is_busy = world.executor.run_one();
    for (; replied_ < world.replies.size(); ++replied_, is_busy = true)
      routes.api.replied(world.replies[replied_].peer.principal,
                         world.replies[replied_].frame.bytes());
    return routes.poll() || is_busy;
  }

  const protocol::ServedSpace space_{SpaceOptions{}};
  std::size_t replied_ = 0;
};

TEST(HttpApi, ObjectsThatArePostedAreTheNeighborsOfTheNextTick) {
  ServedRoutes server;
  EXPECT_EQ(server.ask("POST", "/v1/objects", objects_text(3)).body,
            "{\"accepted\":3,\"late\":0,\"rejected\":0,\"reasons\":[]}\n");
  EXPECT_EQ(server.ask("GET", "/v1/objects/2").status, 200u);
  EXPECT_EQ(server.ask("GET", "/v1/objects/77").status, 404u);
  EXPECT_EQ(server.ask("GET", "/v1/neighbors?k=100000&x=1&y=1").status, 400u);
  const std::string question = "/v1/neighbors?k=2&x=1&y=1";
  EXPECT_EQ(server.ask("GET", question).body, "{\"tick\":0,\"time_us\":0,\"neighbors\":[]}\n");
  server.tick(20);
  EXPECT_EQ(server.ask("GET", question).body,
            "{\"tick\":1,\"time_us\":20,\"neighbors\":[{\"id\":\"0\",\"distance_m\":1},"
            "{\"id\":\"1\",\"distance_m\":1}]}\n");
}

TEST(HttpApi, StreamsAndQueriesAreMadeAndRemovedInTurn) {
  ServedRoutes server;
  const std::string query = R"({"k":1,"x":0,"y":0})";
  EXPECT_EQ(server.ask("PUT", "/v1/streams/cars/queries/5", query).status, 404u);
  EXPECT_EQ(server.ask("PUT", "/v1/streams/cars", "{}").status, 200u);
  EXPECT_EQ(server.ask("PUT", "/v1/streams/cars/queries/5", query).status, 200u);
  EXPECT_THAT(server.ask("GET", "/v1/streams").body, HasSubstr("\"name\":\"cars\""));
  EXPECT_EQ(server.ask("DELETE", "/v1/streams/cars/queries/6").status, 404u);
  EXPECT_EQ(server.ask("DELETE", "/v1/streams/cars/queries/5").status, 200u);
  EXPECT_EQ(server.ask("DELETE", "/v1/streams/cars").body, "{\"removed\":\"cars\"}\n");
  EXPECT_EQ(server.ask("DELETE", "/v1/streams/cars").status, 404u);
}

}  // namespace
}  // namespace starling::stream
