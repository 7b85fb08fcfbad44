// SPDX-License-Identifier: Apache-2.0
// Tests the routes of streams and queries: what is put over HTTP reports to subscribers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

class HttpStreams : public testing::Test {
 protected:
  /// Advances a tick and returns the list of query 1 of the stream "riders".
  protocol::HeldList list_at(std::int64_t tau_us) {
    EXPECT_TRUE(client.advance_tick(tau_us));
    protocol::HeldList list;
    EXPECT_TRUE(client.get_snapshot({.stream = "riders"}, [&](const protocol::SnapshotPage& page) {
      for (std::size_t i = 0; i < page.lists.list_count(); ++i)
        if (page.lists.query_ids[i] == 1) list = protocol::list_of(page.lists, i);
    }));
    return list;
  }

  RunningServer server;
  HttpClient http{server.endpoints().http};
  protocol::Client client = server.client();
};

TEST_F(HttpStreams, AStreamIsPutListedAndChanged) {
  EXPECT_EQ(http.get("/v1/streams").body, "{\"streams\":[]}\n");
  EXPECT_EQ(http.put("/v1/streams/riders", "{}").body,
            "{\"name\":\"riders\",\"on\":\"order\",\"with\":[\"distance\"]}\n");
  EXPECT_EQ(
      http.put("/v1/streams/a%20b%2Fc", R"({"on":"membership","with":["tags","position"]})").status,
      200u);
  EXPECT_EQ(http.put("/v1/streams/riders", R"({"on":"distance","with":[]})").status, 200u);
  EXPECT_EQ(http.get("/v1/streams").body,
            "{\"streams\":[{\"name\":\"riders\",\"on\":\"distance\",\"with\":[]},"
            "{\"name\":\"a b/c\",\"on\":\"membership\",\"with\":[\"position\",\"tags\"]}]}\n");
}

TEST_F(HttpStreams, AllPagesOfStreamsAreListed) {
  std::string listed;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "s" + std::to_string(i);
    ASSERT_TRUE(client.put_stream({.name = name, .on = ReportOn::order, .with = {}}));
    listed.append(i == 0 ? "" : ",")
        .append(R"({"name":")" + name + R"(","on":"order","with":["distance"]})");
  }
  EXPECT_EQ(http.get("/v1/streams").body, "{\"streams\":[" + listed + "]}\n");
}

TEST_F(HttpStreams, AQueryReportsUntilItIsRemoved) {
  ASSERT_EQ(http.put("/v1/streams/riders", "{}").status, 200u);
  ASSERT_EQ(http.post("/v1/objects", R"([{"id":"7","x":3,"y":4,"time":1,"tags":1},
                                         {"id":"8","x":1,"y":0,"time":1}])")
                .status,
            200u);
  EXPECT_EQ(
      http.put("/v1/streams/riders/queries/1", R"({"k":2,"x":0,"y":0,"tags_required":1})").body,
      "{\"accepted\":1,\"late\":0,\"rejected\":0,\"reasons\":[]}\n");
  EXPECT_EQ(list_at(1000).neighbors, (std::vector<protocol::HeldNeighbor>{{ObjectId{7}, 5.0}}));
  ASSERT_EQ(http.put("/v1/streams/riders/queries/1", R"({"k":2,"follow":"8"})").status, 200u);
  EXPECT_EQ(list_at(2000).neighbors.size(), 1u);
  ASSERT_EQ(http.remove("/v1/streams/riders/queries/1").status, 200u);
  EXPECT_EQ(list_at(3000).neighbors.size(), 0u);
  EXPECT_EQ(server.stat("starling_queries"), 0);
}

TEST_F(HttpStreams, AStreamIsRemovedWithItsQueries) {
  ASSERT_EQ(http.put("/v1/streams/riders", "{}").status, 200u);
  ASSERT_EQ(http.put("/v1/streams/riders/queries/1", R"({"k":2,"x":0,"y":0})").status, 200u);
  ASSERT_EQ(http.put("/v1/streams/drivers", "{}").status, 200u);
  EXPECT_EQ(http.remove("/v1/streams/riders").body, "{\"removed\":\"riders\"}\n");
  EXPECT_EQ(http.get("/v1/streams").body,
            "{\"streams\":[{\"name\":\"drivers\",\"on\":\"order\",\"with\":[\"distance\"]}]}\n");
  EXPECT_EQ(http.remove("/v1/streams/riders").status, 404u);
  ASSERT_TRUE(client.advance_tick(1000));
  EXPECT_EQ(server.stat("starling_queries"), 0);
  EXPECT_EQ(server.stat("starling_streams"), 1);
}

TEST_F(HttpStreams, AnEveryObjectQueryHasSubjectsAndALease) {
  ASSERT_EQ(http.put("/v1/streams/riders", "{}").status, 200u);
  ASSERT_TRUE(client.advance_tick(1'000'000));
  EXPECT_EQ(http.put("/v1/streams/riders/queries/all",
                     R"({"k":2,"every_object":true,"subject_tags_required":1,"lease":"10s",
                         "age_max":5000000,"distance_max_m":10})")
                .status,
            200u);
  EXPECT_EQ(server.stat("starling_queries"), 1);
  ASSERT_TRUE(client.advance_tick(12'000'000));
  EXPECT_EQ(server.stat("starling_queries"), 0);
}

TEST_F(HttpStreams, WhatCannotBePutIsRefused) {
  ASSERT_EQ(http.put("/v1/streams/riders", "{}").status, 200u);
  const std::string query = "/v1/streams/riders/queries/1";
  for (const auto& [target, body, status, why] :
       std::vector<std::tuple<std::string, std::string, unsigned, std::string>>{
           {"/v1/streams/riders", R"({"on":"never"})", 400, "on must be"},
           {"/v1/streams/riders", R"({"with":["speed"]})", 400, "with must be an array of"},
           {"/v1/streams/riders", R"({"when":1})", 400, "unknown field \\\"when\\\""},
           {"/v1/streams/" + std::string(256, 'a'), "{}", 400, "256 bytes"},
           {"/v1/streams/a%00b", "{}", 400, "NUL"},
           {"/v1/streams/a%ff", "{}", 400, "percent-encoded UTF-8"},
           {query, std::string(20'000, ' ') + "{}", 413, "at most 16384 bytes"},
           {"/v1/streams/riders", std::string(20'000, ' ') + "{}", 413, "at most 16384 bytes"},
           {query, "[]", 400, "The query must be a JSON object"},
           {query, R"({"x":0,"y":0})", 400, "k is missing"},
           {query, R"({"k":1})", 400, "needs one anchor"},
           {query, R"({"k":1,"x":0,"y":0,"follow":"1"})", 400, "needs one anchor"},
           {query, R"({"k":0,"x":0,"y":0})", 400, "\"detail\":\"k is 0"},
           {query, R"({"k":1,"x":1e300,"y":0})", 400, "position_out_of_range"},
           {query, R"({"k":1,"x":0,"y":0,"lease":"1us"})", 400, "lease must be at least 1ms"},
           {"/v1/streams/cars/queries/1", R"({"k":1,"x":0,"y":0})", 404,
            "no stream \\\"cars\\\""}}) {
    const HttpReply reply = http.put(target, body);
    EXPECT_EQ(reply.status, status) << target << body << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(why)) << target << body;
  }
  EXPECT_EQ(http.remove(query).status, 404u);
  EXPECT_EQ(server.stat("starling_queries"), 0);
  EXPECT_EQ(server.stat("starling_streams"), 1);
}

}  // namespace
}  // namespace starling::stream
