// SPDX-License-Identifier: Apache-2.0
// Tests GET and POST /v1/neighbors: parameters and fields that cannot be used are refused.
// random_questions_test.cpp compares the answers with those of GetNeighbors.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

class HttpQuestions : public testing::Test {
 protected:
  HttpReply ask(std::string_view parameters) {
    return http.get("/v1/neighbors?" + std::string(parameters));
  }

  RunningServer server;
  HttpClient http{server.endpoints().http};
};

TEST_F(HttpQuestions, ParametersThatCannotBeUsedAreRefused) {
  for (const auto& [parameters, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "k is missing"},
           {"k=1", "Ask for the nearest of a place, with x=NUMBER&y=NUMBER, or of an object"},
           {"k=1&x=1", "y is missing"},
           {"k=1&x=1&y=2&object=3", "Ask for the nearest of a place"},
           {"k=1&x=1&y=2&k=2", "\\\"k\\\" is given twice"},
           {"k=1&x=1&y=2&radius=3", "There is no parameter \\\"radius\\\""},
           {"k=1&lon=1&lat=2", "There is no parameter \\\"lon\\\""},
           {"k=0&x=1&y=2", "k is 0; it must be 1 to k-max (1024)"},
           {"k=1025&x=1&y=2", "k-max (1024)"},
           {"k=-1&x=1&y=2", "k must be a whole number, not \\\"-1\\\""},
           {"k=1&x=1&y=2e", "y must be a number"},
           {"k=1&x=nan&y=2", "not"},
           {"k=1&x=1e300&y=2", "\"detail\":\"its position"},
           {"k=1&x=1&y=2&distance_max_m=-1", "distance_max_m is negative"},
           {"k=1&x=1&y=2&age_max=30", "age_max must be a duration such as 30s"},
           {"k=1&x=1&y=2&age_max=99999999999999d", "age_max must be a duration"},
           {"k=1&x=1&y=2&tags_required=4294967296", "tags_required must be a whole number"},
           {"k=1&x=%zz&y=2", "percent-encoded"},
           {"k=1&object=%ff", "percent-encoded"},
           {"k=1&object=", "object is empty"},
           {"k&x=1&y=2", "\\\"k\\\" has no value"}}) {
    const HttpReply reply = ask(parameters);
    EXPECT_EQ(reply.status, 400u) << parameters << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(why)) << parameters;
  }
}

class HttpUnknownObjects : public testing::Test {
 protected:
  RunningServer server{manual_options()};
  HttpClient http{server.endpoints().http};
};

TEST_F(HttpUnknownObjects, AreAnsweredWith404AndEmptyListsAreNot) {
  auto client = server.client();
  const auto expect_unknown = [&](std::string_view why) {
    const std::string body = R"({"k": 2, "object": "nobody"})";
    for (const HttpReply& reply :
         {http.get("/v1/neighbors?k=2&object=nobody"), http.post("/v1/neighbors", body)}) {
      EXPECT_EQ(reply.status, 404u) << reply.body;
      EXPECT_EQ(reply.fields.at("content-type"), "application/problem+json");
      EXPECT_THAT(reply.body, HasSubstr("\"code\":\"unknown_object\""));
      EXPECT_THAT(reply.body, HasSubstr(std::string(why)));
    }
  };
  expect_unknown("No tick has finished yet");
  Fixes fixes;
  fixes.add(7, 1, 0, 0);
  ASSERT_TRUE(client.update(fixes.batch()));
  EXPECT_EQ(http.get("/v1/neighbors?k=2&object=7").status, 404u) << "it waits for a tick";
  ASSERT_TRUE(client.advance_tick(1000));
  expect_unknown("Tick 1 has no object with this id");
  const HttpReply alone = http.get("/v1/neighbors?k=2&object=7");
  EXPECT_EQ(alone.status, 200u);
  EXPECT_THAT(alone.body, HasSubstr("\"neighbors\":[]"));
  ASSERT_EQ(http.remove("/v1/objects/7").status, 200u);
  EXPECT_EQ(http.get("/v1/neighbors?k=2&object=7").status, 200u) << "the removal waits too";
  ASSERT_TRUE(client.advance_tick(2000));
  EXPECT_THAT(http.get("/v1/neighbors?k=2&object=7").body,
              HasSubstr("\"tick\":2,\"time_us\":2000}"));
}

TEST_F(HttpQuestions, FieldsThatCannotBeUsedAreRefused) {
  for (const auto& [body, why] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "k is missing"},
           {"[]", "The question must be a JSON object"},
           {R"({"k":1})", "Ask for the nearest of a place"},
           {R"({"k":1,"x":1})", "The question: y is missing"},
           {R"({"k":1,"x":1,"y":2,"object":"3"})", "Ask for the nearest of a place"},
           {R"({"k":1,"object":3})", "object must be a string"},
           {R"({"k":1,"x":1,"y":2,"vector":[1]})", "unknown field \\\"vector\\\""},
           {R"({"k":1,"x":1,"y":2,"vote":true})", "unknown field \\\"vote\\\""},
           {R"({"k":1025,"x":1,"y":2})", "k-max (1024)"},
           {R"({"k":1.5,"x":1,"y":2})", "k must be a whole number"}}) {
    const HttpReply reply = http.post("/v1/neighbors", body);
    EXPECT_EQ(reply.status, 400u) << body << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(why)) << body;
  }
  EXPECT_THAT(http.post("/v1/neighbors?k=1", R"({"k":1,"x":1,"y":2})").body,
              HasSubstr("this path takes none"));
  EXPECT_EQ(http.post("/v1/neighbors", std::string(20'000, ' ')).status, 413u);
}

TEST_F(HttpQuestions, AHeadRequestHasTheFieldsAlone) {
  auto client = server.client();
  ASSERT_TRUE(client.advance_tick(1));
  const HttpReply reply = http.ask("HEAD", "/v1/neighbors?k=1&x=0&y=0", {}, {});
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(reply.fields.at("content-type"), "application/json");
}

}  // namespace
}  // namespace starling::stream
