// SPDX-License-Identifier: Apache-2.0
// Tests /healthz, /metrics and wrong requests over real sockets. tests/stream/http/ tests the other
// routes.
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

class HttpTest : public testing::Test {
 protected:
  RunningServer server;
  std::string endpoint = server.endpoints().http;
};

TEST_F(HttpTest, HealthIsOk) {
  const std::string answer = http_get(endpoint, "/healthz");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\nok\n"));
}

TEST_F(HttpTest, MetricsCountWhatHappened) {
  auto client = server.client();
  Fixes fixes;
  fixes.add(1, 1, 0, 0);
  ASSERT_TRUE(client.update(fixes.batch()));
  ASSERT_TRUE(client.advance_tick(1000));
  const std::string answer = http_get(endpoint, "/metrics");
  for (const char* line :
       {"starling_rows_total{outcome=\"accepted\"} 1\n",
        "starling_rows_total{outcome=\"late\"} 0\n", "starling_rows_total{outcome=\"future\"} 0\n",
        "starling_ticks_total 1\n", "starling_tick_overruns_total 0\n", "starling_sessions 1\n",
        "starling_subscriptions 0\n", "starling_objects 1\n",
        "starling_subscriber_lost_ticks_total 0\n", "starling_decoding_requests 0\n",
        "starling_tick_stage_seconds_count{stage=\"search\"} 1\n",
        "starling_tick_stage_seconds_count{stage=\"encode\"} 1\n",
        "starling_refused_requests_total{code=\"malformed\"} 0\n"})
    EXPECT_NE(answer.find(line), std::string::npos) << line;
}

TEST_F(HttpTest, OtherPathsAreNotFound) {
  EXPECT_TRUE(http_get(endpoint, "/etc/passwd").starts_with("HTTP/1.1 404"));
}

TEST_F(HttpTest, AHeadHasNoBodyAndADeleteIsRefused) {
  EXPECT_TRUE(
      http_exchange(endpoint,
                    "DELETE /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
          .starts_with("HTTP/1.1 405"));
  const std::string head = http_exchange(
      endpoint, "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

TEST_F(HttpTest, WhatIsNoHttpIsABadRequest) {
  EXPECT_TRUE(http_exchange(endpoint, "hello\r\n\r\n").starts_with("HTTP/1.1 400"));
}

TEST_F(HttpTest, AHeadBeyondTheLimitIsRefused) {
  const std::string request =
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nPadding: " + std::string(60'000, 'x') +
      "\r\n\r\n";
  EXPECT_TRUE(http_exchange(endpoint, request).starts_with("HTTP/1.1 431"));
}

TEST_F(HttpTest, AConnectionServesSeveralRequests) {
  const std::string keep = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string close = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string answers = http_exchange(endpoint, keep + close);
  EXPECT_NE(answers.find("HTTP/1.1 200", 1), std::string::npos);
}

}  // namespace
}  // namespace starling::stream
