// SPDX-License-Identifier: Apache-2.0
// Sends requests that an attacker would send: ambiguous lengths, foreign hosts and pages, bodies
// that are too long or nested too deeply. The server refuses them, and still answers afterwards.
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* one_object = R"({"id":"1","x":1,"y":0,"time":1})";

class HostileHttp : public testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = manual_options();
    options.http_hosts = {"Starling.Example"};
    options.http_origins = {"https://map.example"};
    return options;
  }
  std::string exchange(const std::string& request) {
    return http_exchange(server.endpoints().http, request);
  }
  /// Posts the object with its content type and these fields. Returns the status.
  unsigned post_with(const HttpClient::Fields& beside) {
    HttpClient::Fields fields{{"Content-Type", "application/json"}};
    fields.insert(fields.end(), beside.begin(), beside.end());
    return http.ask("POST", "/v1/objects", one_object, fields).status;
  }
  void TearDown() override {
    EXPECT_THAT(http_get(server.endpoints().http, "/healthz"), StartsWith("HTTP/1.1 200"));
  }

  RunningServer server{options()};
  HttpClient http{server.endpoints().http};
};

TEST_F(HostileHttp, AmbiguousRequestsAreRefusedAndTheConnectionEnds) {
  const std::string post = "POST /v1/objects HTTP/1.1\r\nContent-Type: application/json\r\n";
  const std::string host = "Host: localhost\r\n";
  const std::string hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& request : std::vector<std::string>{
           post + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           post + host + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
           post + host + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
           post + host + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n{\"a\":",
           post + host + "Content-Length: -1\r\n\r\n",
           post + host + "Content-Length: 5 5\r\n\r\n",
           post + host + "Content-Length: 0x5\r\n\r\n",
           post + host + "Content-Length: 99999999999999999999999999\r\n\r\n",
           post + host + "Transfer-Encoding: gzip\r\n\r\n",
           post + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           post + host +
               "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           post + host + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
           post + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
           post + host + "Content-Length : 5\r\n\r\nhello",
           "POST /v1/objects HTTP/1.0\r\nContent-Type: application/json\r\n"
           "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "GET /healthz HTTP/1.1\r\n\r\n",
           "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
           "GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
           post + host + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
           post + host + "Transfer-Encoding: chun\r\n\tked\r\n\r\n0\r\n\r\n",
           post + host + "Content-Length: 5\r\nPadding: a\r\n b\r\n\r\nhello",
           post + host + "Content-Length: 5\r\nPadding:\r\n \r\n\r\nhello",
           post + host + " Content-Length: 5\r\n\r\nhello",
           post + host + "Padding: a\nContent-Length: 5\r\n\r\nhello",
           post + host + "Padding: a\rContent-Length: 5\r\n\r\nhello",
           post + host + "Content-Length: 5\n\r\n\r\nhello",
           post + host + std::string("Padding: a\0b\r\nContent-Length: 5\r\n\r\nhello", 40),
           post + host + "Content-Length: +5\r\n\r\nhello",
           post + host + "Content-Length: 5,5\r\n\r\nhello",
           post + host + "Content-Length: 5\r\nContent-length: 5\r\n\r\nhello",
           post + host + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
           post + host + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n",
           post + host + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
           post + host + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n",
           "GET /healthz\r\nHost: localhost\r\n\r\n",
           "GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
           "GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n"}) {
    const std::string answer = exchange(request + hidden);
    EXPECT_THAT(answer.substr(0, 12), ::testing::AnyOf("HTTP/1.1 400", "HTTP/1.0 400")) << request;
    EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos)
        << request << "the server took the body for a request: " << answer;
    EXPECT_THAT(answer, HasSubstr("application/problem+json"));
  }
  EXPECT_EQ(server.stat("starling_objects"), 0);
  EXPECT_EQ(server.stat("starling_http_answers_total{status=\"4xx\"}"), 37);
}

TEST_F(HostileHttp, ABodyLongerThanItsLengthIsTheNextRequest) {
  const std::string answer = exchange(
      "POST /v1/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\n\r\n{}no request\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_NE(answer.find("HTTP/1.1 400", 1), std::string::npos) << answer;
}

TEST_F(HostileHttp, AChunkedBodyIsRead) {
  const std::string body = one_object;
  const std::string answer = exchange(
      "POST /v1/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Connection: close\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\n" +
      body.substr(0, 3) + "\r\n1c;x=y\r\n" + body.substr(3) + "\r\n0\r\nTrailer: t\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200")) << body.size();
}

TEST_F(HostileHttp, AClientThatExpectsToContinueIsAskedForItsBody) {
  const std::string answer = exchange(
      "POST /v1/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Connection: close\r\nExpect: 100-continue\r\nContent-Length: 31\r\n\r\n" +
      std::string(one_object));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"));
}

TEST_F(HostileHttp, TooLongBodiesAreRefusedBeforeTheyAreRead) {
  const std::string ten_megabytes(10'000'000, ' ');
  EXPECT_EQ(http.post("/v1/objects", ten_megabytes).status, 413u);
  const std::string answer = exchange(
      "POST /v1/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n989680\r\n" +
      ten_megabytes + "\r\n0\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer, HasSubstr("http-body-bytes-max (1048576)"));
}

TEST_F(HostileHttp, ALargeDeepBodyIsRefused) {
  ServerOptions large = manual_options();
  large.http_body_bytes_max = std::size_t{16} << 20;
  const RunningServer other(large);
  HttpClient to_other(other.endpoints().http);
  const HttpReply reply =
      to_other.post("/v1/objects", std::string(5'000'000, '[') + std::string(5'000'000, ']'));
  EXPECT_EQ(reply.status, 400u);
  EXPECT_THAT(reply.body, HasSubstr("nested deeper than 8"));
  std::string objects;
  while (objects.size() < 9'000'000) objects += "{\"a\":";
  const std::size_t depth = objects.size() / 5;
  objects += "1" + std::string(depth, '}');
  EXPECT_THAT(to_other.post("/v1/objects", objects).body, HasSubstr("nested deeper than 8"));
  EXPECT_EQ(to_other.post("/v1/neighbors", objects).status, 413u);
  EXPECT_EQ(to_other.get("/healthz").status, 200u);
}

TEST_F(HostileHttp, OnlyNamesOfThisServerAreAnswered) {
  for (const char* host :
       {"localhost", "LocalHost:1", "127.0.0.1", "[::1]:7413", "starling.example:80"})
    EXPECT_EQ(http.get("/healthz", {{"Host", host}}).status, 200u) << host;
  for (const char* host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]",
        "[::1", "@localhost", "localhost@evil", "[::1]evil", "[::1].evil.example", "[::1]:evil",
        "localhost:evil", "localhost:80:80", "[]", ":80"}) {
    const HttpReply reply = http.get("/metrics", {{"Host", host}});
    EXPECT_EQ(reply.status, 421u) << host;
    EXPECT_THAT(reply.body, HasSubstr("--http-allow-host")) << host;
  }
}

TEST_F(HostileHttp, PagesOfOtherOriginsChangeNothing) {
  const std::string host = server.endpoints().http;
  for (const std::string& origin : std::vector<std::string>{
           "http://evil.example", "null", "https://" + host, "http://" + host + ".evil.example",
           "http://localhost", "https://map.example.evil"})
    EXPECT_EQ(post_with({{"Origin", origin}}), 403u) << origin;
  EXPECT_EQ(http.remove("/v1/objects/1", {{"Origin", "http://evil.example"}}).status, 403u);
  EXPECT_EQ(http.ask("POST", "/v1/neighbors", R"({"k":1,"x":1,"y":1})",
                     {{"Content-Type", "application/json"}, {"Origin", "http://evil.example"}})
                .status,
            403u);
  EXPECT_EQ(server.stat("starling_objects"), 0);
  EXPECT_EQ(post_with({{"Origin", "http://" + host}}), 200u);
  EXPECT_EQ(post_with({{"Origin", "https://MAP.example"}}), 200u);
  EXPECT_EQ(http.get("/healthz", {{"Origin", "http://evil.example"}}).status, 200u);
}

TEST_F(HostileHttp, OnlyJsonIsPosted) {
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "application/jsonx", "text/plain; application/json"})
    EXPECT_EQ(http.post("/v1/objects", one_object, type).status, 415u) << type;
  EXPECT_EQ(http.ask("POST", "/v1/objects", one_object, {}).status, 415u);
  EXPECT_EQ(
      http.ask("PUT", "/v1/streams/a", "{}", {{"Content-Type", "application/x-ndjson"}}).status,
      415u);
  EXPECT_EQ(server.stat("starling_objects"), 0);
}

TEST_F(HostileHttp, AnswersAreCountedByTheClassOfTheirStatus) {
  EXPECT_EQ(http.get("/v1/streams").status, 200u);
  EXPECT_EQ(http.get("/nothing").status, 404u);
  EXPECT_EQ(http.get("/v1/streams", {{"Host", "evil.example"}}).status, 421u);
  exchange("no request\r\n\r\n");
  EXPECT_EQ(server.stat("starling_http_answers_total{status=\"2xx\"}"), 1);
  EXPECT_EQ(server.stat("starling_http_answers_total{status=\"4xx\"}"), 3);
  EXPECT_EQ(server.stat("starling_http_answers_total{status=\"5xx\"}"), 0);
}

TEST_F(HostileHttp, SilentAndSlowConnectionsDoNotShutOthersOut) {
  constexpr int hostile = 200;  // more than http-connections-max
  const std::string endpoint = server.endpoints().http;
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  boost::asio::io_context loop;
  std::vector<boost::asio::ip::tcp::socket> sockets;
  for (int i = 0; i < hostile; ++i) {
    auto& socket = sockets.emplace_back(loop);
    socket.connect({boost::asio::ip::address_v4::loopback(), port});
    boost::system::error_code ignored;
    if (i % 2 == 1)
      boost::asio::write(socket, boost::asio::buffer(std::string("GET /healthz HTTP/1.1\r\nSlow:")),
                         ignored);
  }
  EXPECT_THAT(http_get(endpoint, "/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(server.stat("starling_connections_refused_total"), 0);
}

TEST_F(HostileHttp, PipelinedRequestsAreAnsweredInOrder) {
  const std::string fields = " HTTP/1.1\r\nHost: localhost\r\n";
  const std::string answers = exchange("GET /v1/streams" + fields + "\r\nGET /v1/stats" + fields +
                                       "\r\nGET /healthz" + fields + "Connection: close\r\n\r\n");
  const std::size_t streams = answers.find("{\"streams\"");
  const std::size_t stats = answers.find("{\"counters\"");
  const std::size_t health = answers.find("ok\n");
  EXPECT_LT(streams, stats);
  EXPECT_LT(stats, health);
  EXPECT_NE(health, std::string::npos);
}

}  // namespace
}  // namespace starling::stream
