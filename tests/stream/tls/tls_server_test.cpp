// SPDX-License-Identifier: Apache-2.0
// Tests a server that speaks TLS at its HTTP endpoint: versions, answers, events, WebSockets,
// hostile clients, new certificates, and which addresses it may listen on.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/stream/operation/options.hpp"
#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/stream/support/socket_client.hpp"
#include "tests/stream/tls/tls_client.hpp"
#include "tests/stream/tls/tls_folder.hpp"
#include "tests/stream/tls/tls_tunnel.hpp"

namespace starling::stream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TlsServer : public testing::Test {
 protected:
  TlsServer() {
    options.network = std::make_shared<const std::string>(16'000'000, ' ');
    plain = std::make_unique<RunningServer>(options);
    options.tls = folder.files();
    server = std::make_unique<RunningServer>(options);
    endpoint = server->endpoints().http;
  }

  /// Returns the answer to a request over a new connection.
  std::string answer_of(const std::string& target) const {
    TlsClient client(endpoint);
    EXPECT_TRUE(client.shake_hands()) << client.why();
    return client.get(target);
  }
  std::string certificate_name() const {
    TlsClient client(endpoint);
    EXPECT_TRUE(client.shake_hands()) << client.why();
    return client.certificate_name();
  }

  TlsFolder folder;
  ServerOptions options = manual_options();
  std::unique_ptr<RunningServer> plain;  ///< the same server without TLS
  std::unique_ptr<RunningServer> server;
  std::string endpoint;
};

TEST_F(TlsServer, ARequestGetsTheSameAnswerAsWithoutTlsAndAFieldThatAsksForTls) {
  const std::string field = "Strict-Transport-Security: max-age=31536000\r\n";
  for (const std::string target : {"/healthz", "/v1/streams", "/v1/objects", "/nothing"}) {
    TlsClient client(endpoint);
    ASSERT_TRUE(client.shake_hands()) << client.why();
    EXPECT_STREQ(SSL_get_version(client.tls()), "TLSv1.3");
    std::string answer = client.get(target);
    EXPECT_TRUE(client.is_clean()) << client.why();
    const std::size_t begin = answer.find(field);
    ASSERT_NE(begin, std::string::npos) << answer;
    answer.erase(begin, field.size());
    EXPECT_EQ(answer, http_get(plain->endpoints().http, target));
  }
}

TEST_F(TlsServer, SeveralRequestsGoOverOneConnection) {
  const TlsTunnel tunnel(endpoint);
  HttpClient client(tunnel.endpoint());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.put("/v1/streams/riders", "{}").status / 100, 2u);
    EXPECT_EQ(client.get("/v1/streams/riders").status, 200u);
  }
}

TEST_F(TlsServer, OlderVersionsAreRefused) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION}) {
    TlsClient client(endpoint, {.version_min = version, .version_max = version});
    EXPECT_FALSE(client.shake_hands());
    EXPECT_THAT(client.why(), HasSubstr("protocol version"));
  }
}

TEST_F(TlsServer, OnlyHttp11IsChosenAsTheProtocol) {
  const auto chosen_of = [&](const std::string& offered) {
    TlsClient client(endpoint, {.protocols = offered});
    EXPECT_TRUE(client.shake_hands()) << client.why();
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.tls(), &chosen, &size);
    return std::string(chosen, chosen + size);
  };
  EXPECT_EQ(chosen_of("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(chosen_of("\x02h2"), "");
  EXPECT_EQ(chosen_of(""), "");
}

TEST_F(TlsServer, AnExchangeOfKeysThatCostsMuchTimeIsRefused) {
  for (const char* group :
       {"X25519", "P-256", "P-384", "P-521", "X448", "ffdhe2048", "ffdhe8192"}) {
    TlsClient client(endpoint);
    ASSERT_EQ(SSL_set1_groups_list(client.tls(), group), 1) << group;
    const bool is_cheap = std::string(group) == "X25519" || std::string(group) == "P-256" ||
                          std::string(group) == "P-384";
    EXPECT_EQ(client.shake_hands(), is_cheap) << group;
  }
}

TEST_F(TlsServer, NoTicketIsGivenAndNoSessionIsResumed) {
  TlsClient first(endpoint);
  ASSERT_TRUE(first.shake_hands()) << first.why();
  EXPECT_THAT(first.get("/healthz"), StartsWith("HTTP/1.1 200"));
  SSL_SESSION* const session = SSL_get1_session(first.tls());
  EXPECT_EQ(SSL_SESSION_has_ticket(session), 0);
  EXPECT_EQ(SSL_SESSION_is_resumable(session), 0);
  EXPECT_EQ(SSL_SESSION_get_max_early_data(session), 0u);
  TlsClient second(endpoint, {.session = session});
  ASSERT_TRUE(second.shake_hands()) << second.why();
  EXPECT_EQ(SSL_session_reused(second.tls()), 0);
  EXPECT_NE(SSL_get_early_data_status(second.tls()), SSL_EARLY_DATA_ACCEPTED);
  SSL_SESSION_free(session);
}

TEST_F(TlsServer, PlainHttpGetsASentence) {
  for (const std::string method : {"GET", "POST", "HEAD", "PUT"}) {
    const std::string answer =
        http_exchange(endpoint, method + " / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 400 Bad Request\r\n"),
                              EndsWith("\r\n\r\nThis address speaks HTTPS; write https:// in front "
                                       "of it.\n"),
                              Not(HasSubstr("Strict-Transport-Security"))))
        << method;
  }
}

TEST_F(TlsServer, AClientThatEndsItsSideGetsItsAnswer) {
  TlsClient client(endpoint);
  ASSERT_TRUE(client.shake_hands()) << client.why();
  ASSERT_TRUE(client.send(request_of("/v1/network")));
  ASSERT_TRUE(client.end_sending());
  EXPECT_EQ(body_of(client.receive_to_end()).size(), options.network->size());
}

TEST_F(TlsServer, ALargeAnswerReachesAClientThatReadsLittleAtATime) {
  TlsClient client(endpoint, {.receive_bytes = 4096});
  ASSERT_TRUE(client.shake_hands()) << client.why();
  ASSERT_TRUE(client.send(request_of("/v1/network")));
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) head += client.receive();
  EXPECT_THAT(answer_of("/healthz"), StartsWith("HTTP/1.1 200")) << "others wait";
  EXPECT_EQ(body_of(head + client.receive_to_end()).size(), options.network->size());
  EXPECT_TRUE(client.is_clean()) << client.why();
}

TEST_F(TlsServer, ABodyThatIsTooLargeIsRefusedWithASentence) {
  TlsClient client(endpoint);
  ASSERT_TRUE(client.shake_hands()) << client.why();
  const std::string body(options.http_body_bytes_max + 1, ' ');
  ASSERT_TRUE(
      client.send("POST /v1/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                  "application/json\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n"));
  client.send(body);
  EXPECT_THAT(client.receive_to_end(), StartsWith("HTTP/1.1 413"));
}

TEST_F(TlsServer, EventsOfAStreamArrive) {
  const TlsTunnel tunnel(endpoint);
  protocol::Client producer = server->client();
  ASSERT_TRUE(producer.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
  ASSERT_TRUE(producer.put_queries({"riders", {nearest_to(1, 2, 0, 0)}}));
  EventClient reader({.endpoint = tunnel.endpoint(), .stream = "riders"});
  ASSERT_EQ(reader.connect(), 200u);
  ASSERT_TRUE(reader.read_until([&] { return reader.is_live(); }));
  for (std::int64_t time_us = 1; time_us <= 20; ++time_us) {
    Fixes fixes;
    fixes.add(7, time_us, static_cast<double>(time_us), 0);
    ASSERT_TRUE(producer.update(fixes.batch()));
    ASSERT_TRUE(producer.advance_tick(time_us));
  }
  ASSERT_TRUE(reader.read_until([&] { return reader.counts().ticks == 20; }));
  EXPECT_EQ(reader.counts().gaps, 0u);
  EXPECT_EQ(reader.lists().at({.query = QueryId{1}}).neighbors.at(0).distance_m, 20.0);
  const auto readers = [&] {
    return server->stat("starling_limit_used{name=\"http-events-max\"}");
  };
  EXPECT_EQ(readers(), 1.0);
  reader.disconnect();
  EXPECT_TRUE(happens([&] { return readers() == 0.0; })) << "the server does not see the end";
}

TEST_F(TlsServer, AWebSocketShowsAView) {
  const TlsTunnel tunnel(endpoint);
  protocol::Client producer = server->client();
  SocketClient socket(tunnel.endpoint());
  ASSERT_EQ(socket.connect(), 101u);
  const protocol::View view{
      .rectangle = {-10, -10, 10'000, 10'000}, .ticks_per_s = 1000, .bytes_per_s = 100'000'000};
  const std::uint64_t number = socket.ask(view);
  socket.reply(number);
  Fixes fixes;
  for (std::uint64_t id = 0; id < 5000; ++id) fixes.add(id, 1, static_cast<double>(id), 0);
  ASSERT_TRUE(producer.update(fixes.batch()));
  ASSERT_TRUE(producer.advance_tick(1));
  HeldView held(number);
  std::size_t messages = 0;
  while (held.objects().size() < 5000 && ++messages < 1000) {
    const SocketBytes message = socket.next_other();
    if (message.empty()) break;
    held.apply(message);
  }
  EXPECT_EQ(held.objects().size(), 5000u);
}

TEST_F(TlsServer, IdleHandshakesDoNotTakeThePlacesOfOthers) {
  std::deque<TcpClient> silent;
  for (unsigned i = 0; i < 3 * options.http_connections_max; ++i) silent.emplace_back(endpoint);
  EXPECT_THAT(answer_of("/healthz"), StartsWith("HTTP/1.1 200"));
  for (const TcpClient& each : silent)
    EXPECT_TRUE(each.is_ended_by_server()) << "a handshake that never ends is not cut";
}

TEST_F(TlsServer, AFloodOfConnectionsLeavesItAnswering) {
  for (int i = 0; i < 2000; ++i) {
    const TcpClient client(endpoint);
    client.send_plain(std::string{22, 3, 1, 0, 100, 1});
  }
  EXPECT_TRUE(happens([&] {
    TlsClient client(endpoint);
    return client.shake_hands() && client.get("/healthz").starts_with("HTTP/1.1 200");
  }));
}

TEST_F(TlsServer, AReloadTakesTheNewCertificateForNewConnectionsOnly) {
  TlsClient old(endpoint);
  ASSERT_TRUE(old.shake_hands()) << old.why();
  EXPECT_EQ(old.certificate_name(), "first");
  folder.write({.name = "second"});
  EXPECT_EQ(certificate_name(), "first") << "before the reload";
  server->reload_keys();
  EXPECT_TRUE(happens([&] { return certificate_name() == "second"; }));
  EXPECT_THAT(old.get("/healthz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(TlsServer, AReloadOfBadFilesLeavesTheOldCertificate) {
  folder.write_text("key.pem", "damaged");
  server->reload_keys();
  folder.write_certificate({.name = "second"}, new_tls_key());
  folder.write_key("key.pem", new_tls_key());  // the key of another certificate
  server->reload_keys();
  EXPECT_THAT(answer_of("/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(certificate_name(), "first");
  folder.write({.name = "third"});
  server->reload_keys();
  EXPECT_TRUE(happens([&] {
    const std::string name = certificate_name();
    EXPECT_NE(name, "second");
    return name == "third";
  }));
}

TEST_F(TlsServer, ACertificateThatHasExpiredIsServed) {
  folder.write({.name = "expired", .begin_s = -7200, .end_s = -3600});
  server->reload_keys();
  EXPECT_TRUE(happens([&] { return certificate_name() == "expired"; }));
}

TEST_F(TlsServer, ItEndsWhileConnectionsAreOpen) {
  TlsClient idle(endpoint);
  ASSERT_TRUE(idle.shake_hands()) << idle.why();
  const TcpClient silent(endpoint);
  TlsClient slow(endpoint, {.receive_bytes = 4096});
  ASSERT_TRUE(slow.shake_hands()) << slow.why();
  ASSERT_TRUE(slow.send(request_of("/v1/network")));
  ASSERT_FALSE(slow.receive().empty());
  server->stop();
  EXPECT_EQ(idle.receive(), "");
  EXPECT_TRUE(silent.is_ended_by_server());
}

TEST(TlsOptions, OtherMachinesReachHttpOnlyWithKeysAndTls) {
  const TlsFolder folder;
  const KeysFolder keys;
  keys.write("");
  const auto limits = make_engine()->limits();
  for (const bool has_keys : {false, true})
    for (const bool has_tls : {false, true}) {
      ServerOptions options = manual_options();
      options.http_host = "0.0.0.0";
      if (has_keys) options.keys_path = keys.path();
      if (has_tls) options.tls = folder.files();
      const auto faults = faults_of(options, limits);
      if (has_keys && has_tls) {
        EXPECT_THAT(faults, ElementsAre());
        EXPECT_NO_THROW(Server(options, make_engine()));
      } else {
        EXPECT_THAT(faults, ElementsAre(AllOf(StartsWith("cannot listen on 0.0.0.0:0: "),
                                              HasSubstr("--keys"))));
        EXPECT_THROW(Server(options, make_engine()), std::runtime_error);
      }
    }
}

TEST(TlsOptions, OneFileWithoutTheOtherIsOneFault) {
  const TlsFolder folder;
  const auto limits = make_engine()->limits();
  ServerOptions options = manual_options();
  options.tls = TlsFiles{.certificate = folder.path("cert.pem"), .key = {}};
  EXPECT_THAT(faults_of(options, limits),
              ElementsAre("tls-key: TLS needs the private key of the certificate too; name its "
                          "file"));
  options.tls = TlsFiles{.certificate = {}, .key = folder.path("key.pem")};
  EXPECT_THAT(faults_of(options, limits),
              ElementsAre("tls-cert: TLS needs the certificate of the private key too; name its "
                          "file"));
}

}  // namespace
}  // namespace starling::stream
