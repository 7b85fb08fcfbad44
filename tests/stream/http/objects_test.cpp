// SPDX-License-Identifier: Apache-2.0
// Tests POST /v1/objects and DELETE /v1/objects/ID: objects arrive as in an UpdateBatch, and a body
// that cannot be used changes nothing.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

class HttpObjects : public testing::Test {
 protected:
  std::string neighbors(std::string_view question) {
    return http.get("/v1/neighbors?" + std::string(question)).body;
  }

  RunningServer server;
  HttpClient http{server.endpoints().http};
  protocol::Client client = server.client();
};

TEST_F(HttpObjects, ArraysSingleObjectsAndLinesAreAccepted) {
  EXPECT_EQ(http.post("/v1/objects", R"([{"id":"1","x":1,"y":0,"time":10},
                                         {"id":"2","x":2,"y":0,"time":"1970-01-01T00:00:00.00001Z"}])")
                .body,
            "{\"accepted\":2,\"late\":0,\"rejected\":0,\"reasons\":[]}\n");
  EXPECT_EQ(http.post("/v1/objects", R"({"id":"3","x":3,"y":0,"time":10})").status, 200u);
  const HttpReply lines = http.post("/v1/objects",
                                    "{\"id\":\"4\",\"x\":4,\"y\":0,\"time\":10}\r\n\n"
                                    "{\"id\":\"5\",\"x\":5,\"y\":0,\"time\":10}",
                                    "Application/X-NDJSON; charset=utf-8");
  EXPECT_THAT(lines.body, HasSubstr("\"accepted\":2"));
  ASSERT_TRUE(client.advance_tick(1000));
  EXPECT_EQ(neighbors("k=9&x=0&y=0"),
            "{\"tick\":1,\"time_us\":1000,\"neighbors\":["
            "{\"id\":\"1\",\"distance_m\":1},{\"id\":\"2\",\"distance_m\":2},"
            "{\"id\":\"3\",\"distance_m\":3},{\"id\":\"4\",\"distance_m\":4},"
            "{\"id\":\"5\",\"distance_m\":5}]}\n");
}

TEST_F(HttpObjects, RowsOfOneObjectHaveTheEffectOfOneAfterAnother) {
  // The third row is late, so its tags do not count, and the fourth has none.
  EXPECT_EQ(http.post("/v1/objects", R"([{"id":"1","x":1,"y":0,"time":10,"tags":1},
                                         {"id":"1","x":2,"y":0,"time":20},
                                         {"id":"1","x":3,"y":0,"time":15,"tags":7},
                                         {"id":"1","x":4,"y":0,"time":20},
                                         {"id":"2","x":5,"y":0,"time":20,"tags":9},
                                         {"id":"2","x":1e300,"y":0,"time":20,"tags":8},
                                         {"id":"2","x":6,"y":0,"time":20}])")
                .body,
            "{\"accepted\":5,\"late\":1,\"rejected\":1,\"reasons\":[{\"index\":5,"
            "\"reason\":\"position_out_of_range\"}]}\n");
  EXPECT_THAT(http.get("/v1/objects/1").body,
              HasSubstr("\"x\":4,\"y\":0,\"time_us\":20,\"tags\":1"));
  EXPECT_THAT(http.get("/v1/objects/2").body,
              HasSubstr("\"x\":6,\"y\":0,\"time_us\":20,\"tags\":9"));
}

TEST_F(HttpObjects, AnObjectIsReadAsSoonAsItIsAcknowledged) {
  EXPECT_EQ(http.get("/v1/objects/bus").status, 404u);
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"7","x":-1.25,"y":3,"time":10,"tags":5})").status,
            200u);
  EXPECT_EQ(http.get("/v1/objects/7").body,
            "{\"id\":\"7\",\"x\":-1.25,\"y\":3,\"time_us\":10,\"tags\":5}\n");
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"bus","x":0,"y":0,"time":10})").status, 200u);
  EXPECT_THAT(http.get("/v1/objects/bus").body, HasSubstr("\"name\":\"bus\""));
  ASSERT_TRUE(client.advance_tick(1000));
  ASSERT_EQ(http.remove("/v1/objects/7").status, 200u);
  EXPECT_EQ(http.get("/v1/objects/7").status, 404u);
}

TEST_F(HttpObjects, ATextIdIsItsHashAndItsNameIsShown) {
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"ñandú \"7\"","x":1,"y":0,"time":1})").status, 200u);
  ASSERT_TRUE(client.advance_tick(1000));
  const std::uint64_t id = to_number(protocol::id_of_text("ñandú \"7\""));
  EXPECT_THAT(neighbors("k=1&x=0&y=0"),
              HasSubstr("{\"id\":\"" + std::to_string(id) +
                        "\",\"distance_m\":1,\"name\":\"ñandú \\\"7\\\"\"}"));
  EXPECT_EQ(neighbors("k=1&object=%C3%B1and%C3%BA+%227%22"),
            "{\"tick\":1,\"time_us\":1000,\"neighbors\":[]}\n");
}

TEST_F(HttpObjects, ANameMustBeTheTextOfItsId) {
  const auto id = std::to_string(to_number(protocol::id_of_text("bus")));
  EXPECT_EQ(http.post("/v1/objects", R"({"id":")" + id + R"(","name":"bus","x":1,"y":0,"time":1})")
                .status,
            200u);
  const HttpReply refused =
      http.post("/v1/objects", R"({"id":"7","name":"bus","x":1,"y":0,"time":1})");
  EXPECT_EQ(refused.status, 400u);
  EXPECT_THAT(refused.body, HasSubstr("Object 0: name must be the text whose id this is"));
}

TEST_F(HttpObjects, ARefusedNameRefusesItsObjectAlone) {
  ServerOptions options = manual_options();
  options.names.names_max = 1;
  const RunningServer full(options);
  HttpClient to_full(full.endpoints().http);
  EXPECT_EQ(
      to_full
          .post("/v1/objects", R"([{"id":"a","x":1,"y":0,"time":1},{"id":"b","x":1,"y":0,"time":1},
                                         {"id":"9","x":1,"y":0,"time":1}])")
          .body,
      "{\"accepted\":2,\"late\":0,\"rejected\":1,\"reasons\":[{\"index\":1,"
      "\"reason\":\"too_many_names\",\"limit\":\"names-max\",\"limit_value\":1}]}\n");
}

TEST_F(HttpObjects, LateAndRejectedRowsAreCountedAndNamedByIndex) {
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"1","x":1,"y":0,"time":100})").status, 200u);
  EXPECT_EQ(http.post("/v1/objects", R"([{"id":"1","x":1,"y":0,"time":99},
                                         {"id":"2","x":1e300,"y":0,"time":99},
                                         {"id":"3","x":1,"y":0,"time":99,"tags":5},
                                         {"id":"4","x":1,"y":0,"time":9223372036854775807}])")
                .body,
            "{\"accepted\":1,\"late\":1,\"rejected\":2,\"reasons\":["
            "{\"index\":1,\"reason\":\"position_out_of_range\"},"
            "{\"index\":3,\"reason\":\"time_out_of_range\"}]}\n");
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"accepted\"}"), 2);
  EXPECT_EQ(server.stat("starling_rows_total{outcome=\"late\"}"), 1);
}

TEST_F(HttpObjects, RowsWithAndWithoutTagsKeepTheirOrder) {
  ASSERT_EQ(http.post("/v1/objects", R"([{"id":"1","x":1,"y":0,"time":5,"tags":4},
                                         {"id":"1","x":2,"y":0,"time":5},
                                         {"id":"1","x":3,"y":0,"time":5,"tags":6}])")
                .status,
            200u);
  ASSERT_TRUE(client.advance_tick(1000));
  EXPECT_THAT(neighbors("k=1&x=0&y=0&tags_required=2"), HasSubstr("\"distance_m\":3"));
  EXPECT_THAT(neighbors("k=1&x=0&y=0&tags_forbidden=2"), HasSubstr("\"neighbors\":[]"));
}

TEST_F(HttpObjects, AlternatingRowsWithAndWithoutTagsAreAllApplied) {
  std::string body;
  for (int i = 0; i < 500; ++i) {
    const std::string id = std::to_string(i);
    body += R"({"id":")" + id + R"(","x":)" + id + R"(,"y":0,"time":5)" +
            (i % 2 == 0 ? "}\n" : ",\"tags\":1}\n");
  }
  body += R"({"id":"500","x":1e300,"y":0,"time":5})";
  EXPECT_EQ(http.post("/v1/objects", body, "application/x-ndjson").body,
            "{\"accepted\":500,\"late\":0,\"rejected\":1,\"reasons\":["
            "{\"index\":500,\"reason\":\"position_out_of_range\"}]}\n");
  ASSERT_TRUE(client.advance_tick(1000));
  EXPECT_THAT(neighbors("k=1&x=0&y=0&tags_required=1"), HasSubstr("\"id\":\"1\""));
  EXPECT_THAT(neighbors("k=1&x=499&y=0&tags_forbidden=1"), HasSubstr("\"id\":\"498\""));
}

TEST_F(HttpObjects, WithoutATimeTheServersTimeCounts) {
  EXPECT_THAT(http.post("/v1/objects", R"({"id":"1","x":1,"y":0})").body,
              HasSubstr("there was no tick yet"));
  ASSERT_TRUE(client.advance_tick(1000));
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"1","x":1,"y":0})").status, 200u);
  EXPECT_THAT(http.post("/v1/objects", R"({"id":"1","x":1,"y":0,"time":999})").body,
              HasSubstr("\"late\":1"));
}

TEST_F(HttpObjects, ABodyThatCannotBeUsedChangesNothing) {
  const std::string good = R"({"id":"1","x":1,"y":0,"time":1})";
  for (const auto& [bad, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"id":"2","x":1,"y":0,"tme":1})", "Object 1 has the unknown field \\\"tme\\\""},
           {R"({"id":"2","x":1,"x":1,"y":0})", "Object 1: x is given twice"},
           {R"({"id":2,"x":1,"y":0})", "Object 1: id must be a string"},
           {R"({"x":1,"y":0})", "Object 1: id is missing"},
           {R"({"id":"","x":1,"y":0})", "Object 1: id is empty"},
           {R"({"id":"a\u0000b","x":1,"y":0})", "Object 1: id has a NUL"},
           {R"({"id":"2","x":"1","y":0})", "Object 1: x must be a number"},
           {R"({"id":"2","x":1})", "Object 1: y is missing"},
           {R"({"id":"2","x":1,"y":0,"z":0})", "unknown field \\\"z\\\""},
           {R"({"id":"2","x":1,"y":0,"tags":4294967296})", "tags must be a whole number"},
           {R"({"id":"2","x":1,"y":0,"tags":-1})", "tags must be a whole number"},
           {R"({"id":"2","x":1,"y":0,"time":"2026-03-01T12:00:00"})", "time must be an ISO 8601"},
           {R"({"id":"2","x":1,"y":0,"time":1.5})", "time must be an ISO 8601"},
           {R"({"id":"2","x":NaN,"y":0})", "not valid JSON"},
           {R"({"id":"2","x":1,"y":0)", "not valid JSON"},
           {"{\"id\":\"\xff\",\"x\":1,\"y\":0}", "The body is not UTF-8"},
           {"7", "Object 1 must be a JSON object"},
           {"[[[[[[[[[[[[]]]]]]]]]]]]", "nested deeper than 8"}}) {
    const HttpReply reply = http.post("/v1/objects", "[" + good + "," + bad + "]");
    EXPECT_EQ(reply.status, 400u) << bad;
    EXPECT_EQ(reply.fields.at("content-type"), "application/problem+json");
    EXPECT_THAT(reply.body, HasSubstr(why)) << bad;
  }
  EXPECT_THAT(http.post("/v1/objects", "[]").body, HasSubstr("no object"));
  EXPECT_THAT(http.post("/v1/objects", " ").body, HasSubstr("empty"));
  EXPECT_EQ(server.stat("starling_objects"), 0);
}

TEST_F(HttpObjects, ALongBodyIsOneOfManyBatches) {
  std::string body;
  constexpr int objects = 20'000;
  for (int i = 0; i < objects; ++i)
    body += "{\"id\":\"" + std::to_string(i) + "\",\"x\":" + std::to_string(i) +
            ",\"y\":0,\"time\":1}\n";
  body += "{\"id\":\"late\",\"x\":1e300,\"y\":0,\"time\":1}\n";
  EXPECT_EQ(http.post("/v1/objects", body, "application/x-ndjson").body,
            "{\"accepted\":20000,\"late\":0,\"rejected\":1,\"reasons\":[{\"index\":20000,"
            "\"reason\":\"position_out_of_range\"}]}\n");
  EXPECT_EQ(server.stat("starling_objects"), objects);
}

TEST_F(HttpObjects, MoreObjectsThanASessionMayHaveUnansweredAreRefused) {
  ServerOptions options = manual_options();
  options.limits.rows_max = 2;
  options.limits.credit_rows = 2;
  const RunningServer small(options);
  const std::string object = R"({"id":"1","x":1,"y":0,"time":1})";
  const HttpReply reply =
      HttpClient(small.endpoints().http)
          .post("/v1/objects", "[" + object + "," + object + "," + object + "]");
  EXPECT_EQ(reply.status, 413u);
  EXPECT_THAT(reply.body, HasSubstr("credit-rows (2)"));
}

TEST_F(HttpObjects, ARemovedObjectIsGone) {
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"a/b","x":1,"y":0,"time":1})").status, 200u);
  ASSERT_TRUE(client.advance_tick(1000));
  EXPECT_THAT(http.remove("/v1/objects/a%2Fb").body, HasSubstr("\"accepted\":1"));
  ASSERT_TRUE(client.advance_tick(2000));
  EXPECT_THAT(neighbors("k=1&x=0&y=0"), HasSubstr("\"neighbors\":[]"));
}

TEST_F(HttpObjects, TheGatewayOpensANewSessionIfItsOwnHasEnded) {
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 2;
  options.sessions.idle_us = 0;
  const RunningServer forgetful(options);
  HttpClient forgotten(forgetful.endpoints().http);
  const std::string object = R"({"id":"1","x":1,"y":0,"time":1})";
  ASSERT_EQ(forgotten.post("/v1/objects", object).status, 200u);
  // The server forgets idle sessions once a second.
  ASSERT_TRUE(happens([&] {
    return http_get(forgetful.endpoints().http, "/metrics").find("starling_sessions 0\n") !=
           std::string::npos;
  }));
  EXPECT_EQ(forgotten.post("/v1/objects", object).status, 200u);
  EXPECT_EQ(forgotten.get("/v1/stats").status, 200u);
}

}  // namespace
}  // namespace starling::stream
