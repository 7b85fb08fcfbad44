// SPDX-License-Identifier: Apache-2.0
// Tests the routes of objects, questions and queries on a server of vectors: labels and values
// arrive, and vectors that cannot be used are refused. random_questions_test.cpp compares the
// answers with those of GetNeighbors.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

ServerOptions vector_options(std::uint32_t dimension, Metric metric = Metric::l2) {
  ServerOptions options = manual_options();
  options.processor.space = {.space = Space::vector, .dimension = dimension, .metric = metric};
  return options;
}

std::string components_text(std::size_t count, const std::string& each) {
  std::string text = each;
  for (std::size_t i = 1; i < count; ++i) text += "," + each;
  return text;
}

class HttpVectors : public testing::Test {
 protected:
  void put(const std::string& objects) {
    const HttpReply reply = http.post("/v1/objects", objects);
    ASSERT_EQ(reply.status, 200u) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("\"rejected\":0")) << reply.body;
    ASSERT_TRUE(client.advance_tick(tau_us += 1000));
  }
  std::string ask(const std::string& parameters) {
    return http.get("/v1/neighbors?" + parameters).body;
  }

  RunningServer server{vector_options(2)};
  HttpClient http{server.endpoints().http};
  protocol::Client client = server.client();
  std::int64_t tau_us = 0;
};

TEST_F(HttpVectors, AreFoundByVectorAndByObject) {
  put(R"([{"id":"7","vector":[3,4],"time":10,"tags":5},{"id":"word","vector":[0,1],"time":20}])");
  const std::string word = ask("k=1&vector=0,0");
  EXPECT_THAT(word, HasSubstr("\"time_us\":1000,\"metric\":\"l2\",\"neighbors\":[{\"id\":"));
  EXPECT_THAT(word, HasSubstr("\"distance\":1,\"name\":\"word\"}]}"));
  EXPECT_EQ(ask("k=2&object=word&distance_max=5&tags_required=4"),
            "{\"tick\":1,\"time_us\":1000,\"metric\":\"l2\",\"neighbors\":["
            "{\"id\":\"7\",\"distance\":4.242640687119285}]}\n");
  EXPECT_EQ(http.post("/v1/neighbors", R"({"k":1,"vector":[3,4.5],"distance_max":0.5})").body,
            "{\"tick\":1,\"time_us\":1000,\"metric\":\"l2\",\"neighbors\":["
            "{\"id\":\"7\",\"distance\":0.5}]}\n");
  EXPECT_EQ(http.get("/v1/objects/7").body, "{\"id\":\"7\",\"time_us\":10,\"tags\":5}\n");
  ASSERT_EQ(http.remove("/v1/objects/7").status, 200u);
  EXPECT_EQ(http.get("/v1/objects/7").status, 404u);
}

TEST_F(HttpVectors, LabelsVoteAndValuesHaveAMean) {
  put(R"([{"id":"1","vector":[0,0],"time":10,"label":5,"value":1.5},
          {"id":"2","vector":[0,1],"time":10,"label":-7},
          {"id":"3","vector":[0,2],"time":10,"label":-7,"value":2.5},
          {"id":"4","vector":[0,3],"time":10}])");
  const std::string question = "k=9&vector=0,0&vote=true&regress=uniform";
  EXPECT_THAT(ask(question), HasSubstr("],\"vote\":-7,\"mean\":2}"));
  EXPECT_THAT(ask("k=9&vector=0,0&vote=false"), ::testing::Not(HasSubstr("vote")));
  put(R"([{"id":"2","vector":[0,1],"time":20,"label":null},
          {"id":"3","vector":[0,2],"time":20,"value":null},
          {"id":"1","vector":[0,0],"time":20}])");
  EXPECT_THAT(ask("k=1&vector=0,0&vote=true&regress=uniform"),
              HasSubstr("],\"vote\":5,\"mean\":1.5}"));
  EXPECT_THAT(ask("k=1&vector=0,1&vote=true&regress=distance"),
              HasSubstr("],\"vote\":null,\"mean\":null}"));
}

TEST_F(HttpVectors, AStandingQueryHasAVector) {
  put(R"({"id":"7","vector":[3,4],"time":10,"label":2})");
  ASSERT_EQ(http.put("/v1/streams/s", "{}").status, 200u);
  const HttpReply reply =
      http.put("/v1/streams/s/queries/1", R"({"k":1,"vector":[0,0],"distance_max":5,"vote":true})");
  EXPECT_EQ(reply.status, 200u) << reply.body;
  ASSERT_EQ(http.put("/v1/streams/s/queries/2", R"({"k":1,"follow":"7"})").status, 200u);
  ASSERT_TRUE(client.advance_tick(tau_us += 1000));
  std::vector<protocol::HeldList> lists;
  EXPECT_TRUE(client.get_snapshot({.stream = "s"}, [&](const protocol::SnapshotPage& page) {
    for (std::size_t i = 0; i < page.lists.list_count(); ++i)
      lists.push_back(protocol::list_of(page.lists, i));
  }));
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].neighbors, (std::vector<protocol::HeldNeighbor>{{ObjectId{7}, 5.0}}));
  EXPECT_EQ(lists[0].vote, 2);
  EXPECT_TRUE(lists[1].neighbors.empty());
}

TEST_F(HttpVectors, VectorsThatCannotBeUsedAreRefused) {
  using Bodies = std::vector<std::pair<std::string, std::string>>;
  const Bodies vectors{
      {"[1]", "vector must have 2 components, not 1"},
      {"[]", "vector must have 2 components, not 0"},
      {"[1,2,3]", "vector must have 2 components, not more"},
      {"[1,1e39]", "vector component 1 (from 0) must be a number within the range of float32"},
      {"[\"1\",1]", "vector component 0 (from 0) must be a number within the range of float32"},
      {"[1,null]", "vector component 1 (from 0) must be a number within the range of float32"},
      {"[1,NaN]", "not valid JSON"},
      {"[1,1e400]", "not valid JSON"},
      {"7", "vector must be an array"}};
  ASSERT_EQ(http.put("/v1/streams/s", "{}").status, 200u);
  for (const auto& [vector, why] : vectors) {
    const std::string fields = "\"vector\":" + vector + "}";
    for (const HttpReply& reply : {http.post("/v1/objects", "{\"id\":\"7\"," + fields),
                                   http.post("/v1/neighbors", "{\"k\":1," + fields),
                                   http.put("/v1/streams/s/queries/1", "{\"k\":1," + fields)}) {
      EXPECT_EQ(reply.status, 400u) << vector;
      EXPECT_THAT(reply.body, HasSubstr(why)) << vector;
    }
  }
  for (const auto& [vector, why] :
       Bodies{{"1", "vector must have 2 components, not 1"},
              {"1,2,3", "vector must have 2 components, not 3"},
              {"1,nan", "vector must be numbers within the range of float32"},
              {"1,inf", "vector must be numbers within the range of float32"},
              {"1,1e39", "vector must be numbers within the range of float32"},
              {"1,", "vector must be numbers within the range of float32"},
              {"", "vector must be numbers within the range of float32"},
              {"1,1e30", "component 1 (from 0) is beyond"}}) {
    const HttpReply reply = http.get("/v1/neighbors?k=1&vector=" + vector);
    EXPECT_EQ(reply.status, 400u) << vector;
    EXPECT_THAT(reply.body, HasSubstr(why)) << vector;
  }
  EXPECT_EQ(server.stat("starling_objects"), 0);
}

TEST_F(HttpVectors, FieldsThatCannotBeUsedAreRefused) {
  for (const auto& [object, why] : std::vector<std::pair<std::string, std::string>>{
           {R"("x":1,"y":2)", "unknown field \\\"x\\\""},
           {R"("time":1)", "vector is missing"},
           {R"("vector":[1,2],"label":1.5)", "label must be a whole number within 64 bits"},
           {R"("vector":[1,2],"label":-9223372036854775808)", "label must be greater than -2^63"},
           {R"("vector":[1,2],"value":"1")", "value must be a number"}}) {
    const HttpReply reply = http.post("/v1/objects", "{\"id\":\"7\"," + object + "}");
    EXPECT_EQ(reply.status, 400u) << object;
    EXPECT_THAT(reply.body, HasSubstr(why)) << object;
  }
  for (const auto& [parameters, why] : std::vector<std::pair<std::string, std::string>>{
           {"k=1", "with vector=NUMBER,NUMBER,..., or of an object"},
           {"k=1&vector=1,2&object=7", "Ask for the nearest of a place"},
           {"k=1&vector=1,2&distance_max_m=5", "There is no parameter \\\"distance_max_m\\\""},
           {"k=1&vector=1,2&distance_max=-5", "negative"},
           {"k=1&vector=1,2&vote=yes", "vote must be true or false, not \\\"yes\\\""},
           {"k=1&vector=1,2&regress=none",
            "regress must be \\\"uniform\\\" or \\\"distance\\\""}}) {
    const HttpReply reply = http.get("/v1/neighbors?" + parameters);
    EXPECT_EQ(reply.status, 400u) << parameters;
    EXPECT_THAT(reply.body, HasSubstr(why)) << parameters;
  }
}

TEST(HttpVectorMetrics, AComponentThatTheMetricRefusesRejectsItsRow) {
  const RunningServer server(vector_options(2, Metric::hellinger));
  HttpClient http(server.endpoints().http);
  EXPECT_EQ(http.post("/v1/objects", R"([{"id":"1","vector":[1,2],"time":1},
                                         {"id":"2","vector":[1,-2],"time":1}])")
                .body,
            "{\"accepted\":1,\"late\":0,\"rejected\":1,\"reasons\":[{\"index\":1,"
            "\"reason\":\"component_negative\",\"component\":1}]}\n");
  ASSERT_EQ(http.put("/v1/streams/s", "{}").status, 200u);
  const HttpReply query = http.put("/v1/streams/s/queries/1", R"({"k":1,"vector":[1,-2]})");
  EXPECT_EQ(query.status, 400u);
  EXPECT_THAT(query.body, HasSubstr("component_negative"));
  EXPECT_THAT(http.get("/v1/neighbors?k=1&vector=-1,2").body,
              HasSubstr("component 0 (from 0) is negative"));
}

TEST(HttpVectorMetrics, InnerProductsMayBeNegative) {
  const RunningServer server(vector_options(2, Metric::inner_product));
  HttpClient http(server.endpoints().http);
  auto client = server.client();
  ASSERT_EQ(http.post("/v1/objects", R"({"id":"1","vector":[1,2],"time":1})").status, 200u);
  ASSERT_TRUE(client.advance_tick(1000));
  EXPECT_THAT(
      http.get("/v1/neighbors?k=1&vector=3,4&distance_max=-11").body,
      HasSubstr("\"metric\":\"inner-product\",\"neighbors\":[{\"id\":\"1\",\"distance\":-11}"));
  EXPECT_EQ(http.get("/v1/neighbors?k=1&vector=3,4&regress=distance").status, 400u);
}

TEST(HttpLargeVectors, ThousandsOfComponentsFitABodyAndManyOfThemABatch) {
  constexpr std::size_t dimension = 4096;
  ServerOptions options = vector_options(dimension);
  options.limits.frame_bytes_max = 20'000;  // limit of the wire: one vector in a batch
  options.limits.credit_bytes = 20'000;
  const RunningServer server(options);
  HttpClient http(server.endpoints().http);
  auto client = server.client();
  std::string lines;
  for (int i = 1; i <= 20; ++i)
    lines += "{\"id\":\"object-" + std::to_string(i) + "\",\"time\":1,\"vector\":[" +
             components_text(dimension, std::to_string(i)) + "]}\n";
  EXPECT_EQ(http.post("/v1/objects", lines, "application/x-ndjson").body,
            "{\"accepted\":20,\"late\":0,\"rejected\":0,\"reasons\":[]}\n");
  ASSERT_TRUE(client.advance_tick(1000));
  const std::string third = components_text(dimension, "-1.2345678901234567e-01");
  const HttpReply reply = http.post("/v1/neighbors", "{\"k\":1,\"vector\":[" + third + "]}");
  EXPECT_EQ(reply.status, 200u) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("\"name\":\"object-1\""));
  EXPECT_EQ(http.get("/v1/neighbors?k=1&vector=" + third).status, 431u);
  EXPECT_EQ(http.post("/v1/neighbors", std::string(200'000, ' ')).status, 413u);
}

}  // namespace
}  // namespace starling::stream
