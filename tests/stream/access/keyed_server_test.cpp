// SPDX-License-Identifier: Apache-2.0
// Tests a server with keys: which peers it lets in, which topics they may subscribe to, and what a
// reload of the keys file changes. The clients are libzmq's.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::Not;

const std::string reader =
    "roles = [\"query\", \"subscribe\", \"stats\"]\nstreams = [\"rider*\"]\n";

class KeyedServer : public testing::Test {
 protected:
  KeyedServer() {
    folder.write(text_of_a() + principal_text("b", b.public_key, "roles = [\"query\"]\n"));
    options.keys_path = folder.path();
    options.audit_path = folder.path("audit.jsonl");
    server = std::make_unique<RunningServer>(options);
  }

  std::string text_of_a(const std::string& members = reader) const {
    return principal_text("a", a.public_key, members);
  }

  /// A connection, and the socket that has libzmq's events about it.
  struct Connection {
    zmq::socket_t socket;
    zmq::socket_t events;

    /// Returns the next monitored event, or 0 if none comes within `wait`.
    int next_event(std::chrono::milliseconds wait = patience) {
      events.set(zmq::sockopt::rcvtimeo, static_cast<int>(wait.count()));
      zmq::message_t event;
      zmq::message_t address;
      if (!events.recv(event) || !events.recv(address)) return 0;
      std::uint16_t number = 0;
      std::memcpy(&number, event.data(), sizeof(number));
      return number;
    }
  };

  Connection connect(zmq::socket_type type, const std::string& endpoint,
                     const protocol::KeyPair& pair) {
    Connection made{zmq::socket_t(context, type), zmq::socket_t(context, zmq::socket_type::pair)};
    const auto text = [](const protocol::CurveKey& key) { return protocol::to_z85(key); };
    made.socket.set(zmq::sockopt::linger, 0);
    made.socket.set(zmq::sockopt::curve_serverkey, text(folder.server.public_key));
    made.socket.set(zmq::sockopt::curve_publickey, text(pair.public_key));
    made.socket.set(zmq::sockopt::curve_secretkey, text(pair.secret_key));
    const std::string monitor = "inproc://monitor-" + std::to_string(monitors++);
    if (zmq_socket_monitor(made.socket.handle(), monitor.c_str(),
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED) != 0)
      throw std::runtime_error("no monitor");
    made.events.connect(monitor);
    made.socket.connect(endpoint);
    return made;
  }
  Connection dealer(const protocol::KeyPair& pair) {
    return connect(zmq::socket_type::dealer, server->endpoints().commands, pair);
  }
  Connection subscriber(const protocol::KeyPair& pair, std::string_view topic) {
    Connection made = connect(zmq::socket_type::sub, server->endpoints().results, pair);
    made.socket.set(zmq::sockopt::subscribe, topic);
    return made;
  }

  std::string audit_log() const {
    std::ifstream file(folder.path("audit.jsonl"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool audit_says(const std::string& text) const {
    return happens([&] { return audit_log().find(text) != std::string::npos; });
  }
  protocol::Client client_of(const protocol::KeyPair& pair) {
    protocol::KeyPair with_server = pair;
    with_server.server_key = folder.server.public_key;
    return protocol::Client(
        server->context(),
        {.commands = server->endpoints().commands, .name = "test", .key = with_server});
  }

  KeysFolder folder;
  protocol::KeyPair a = protocol::new_key_pair("a");
  protocol::KeyPair b = protocol::new_key_pair("b");
  ServerOptions options = manual_options();
  int monitors = 0;
  zmq::context_t context;
  std::unique_ptr<RunningServer> server;
};

TEST_F(KeyedServer, AKnownKeyIsLetInAndToldToTheAuditLog) {
  Connection peer = dealer(a);
  EXPECT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  EXPECT_TRUE(audit_says(R"("event":"admitted","principal":"a","endpoint":"commands"})"));
}

TEST_F(KeyedServer, AnUnknownKeyIsRefusedAndToldToTheAuditLog) {
  const auto stranger = protocol::new_key_pair("stranger");
  Connection peer = dealer(stranger);
  EXPECT_NE(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  // Z85 has no character that JSON escapes.
  EXPECT_TRUE(audit_says("\"event\":\"unknown_key\",\"public\":\"" +
                         protocol::to_z85(stranger.public_key) + "\""));
}

TEST_F(KeyedServer, APeerWithoutAKeyIsRefused) {
  zmq::socket_t plain(context, zmq::socket_type::dealer);
  zmq::socket_t events(context, zmq::socket_type::pair);
  plain.set(zmq::sockopt::linger, 0);
  ASSERT_EQ(zmq_socket_monitor(plain.handle(), "inproc://plain",
                               ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                   ZMQ_EVENT_DISCONNECTED),
            0);
  events.connect("inproc://plain");
  plain.connect(server->endpoints().commands);
  Connection peer{std::move(plain), std::move(events)};
  EXPECT_NE(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(KeyedServer, AStreamOfItsOwnMayBeSubscribed) {
  for (const std::string& topic : {"riders\0"s, "rider"s}) {
    Connection peer = subscriber(a, topic);
    EXPECT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(peer.next_event(std::chrono::milliseconds(200)), 0) << "it was cut";
  }
}

TEST_F(KeyedServer, AForeignTopicOrAPrefixOfOneIsCut) {
  for (const std::string& topic : {"secret\0"s, "ride"s, ""s}) {
    Connection peer = subscriber(a, topic);
    EXPECT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(peer.next_event(), ZMQ_EVENT_DISCONNECTED);
  }
  EXPECT_TRUE(audit_says(R"("event":"refused_topic","principal":"a","topic":"secret\u0000"})"));
}

TEST_F(KeyedServer, ASubscriberWithoutTheRoleIsCut) {
  Connection peer = subscriber(b, "riders\0"s);
  EXPECT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  EXPECT_EQ(peer.next_event(), ZMQ_EVENT_DISCONNECTED);
}

TEST_F(KeyedServer, APrincipalBeyondItsLoopTimeIsReadSlowly) {
  folder.write(text_of_a(reader + "[principal.quota]\nloop_ms_per_second = 1\n"));
  server = std::make_unique<RunningServer>(options);
  Connection peer = dealer(a);
  ASSERT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  constexpr int sent = 20'000;
  peer.socket.set(zmq::sockopt::sndhwm, sent);
  peer.socket.set(zmq::sockopt::rcvtimeo, 1000);
  for (int count = 0; count < sent; ++count) peer.socket.send(zmq::buffer("no request"s));
  int answered = 0;
  zmq::message_t reply;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < until)
    if (peer.socket.recv(reply)) ++answered;
  EXPECT_GT(answered, 0);
  EXPECT_LT(answered, sent / 4) << "all would be answered within a fifth of a second";
}

TEST_F(KeyedServer, WhatWasReadBeforeARestIsServedAfterIt) {
  folder.write(text_of_a(reader + "[principal.quota]\nloop_ms_per_second = 1\n"));
  server = std::make_unique<RunningServer>(options);
  Connection peer = dealer(a);
  ASSERT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  peer.socket.set(zmq::sockopt::rcvtimeo, 10'000);
  // After the first messages, of which a few dozen are within the quota, the connection rests. The
  // others are then received at once and taken one by one, and nothing comes after them.
  for (const int sent : {100, 5}) {
    for (int count = 0; count < sent; ++count) peer.socket.send(zmq::buffer("no request"s));
    zmq::message_t reply;
    for (int count = 0; count < sent; ++count)
      ASSERT_TRUE(peer.socket.recv(reply)) << "reply " << count << " of " << sent;
  }
}

TEST_F(KeyedServer, AReloadCutsTheRevokedWithinASecondAndNobodyElse) {
  Connection revoked = dealer(a);
  Connection follower = subscriber(a, "riders\0"s);
  Connection other = dealer(b);
  for (Connection* each : {&revoked, &follower, &other})
    ASSERT_EQ(each->next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  folder.write(principal_text("b", b.public_key, "roles = [\"query\"]\n"));
  const auto begin = std::chrono::steady_clock::now();
  server->reload_keys();
  EXPECT_EQ(revoked.next_event(), ZMQ_EVENT_DISCONNECTED);
  EXPECT_EQ(follower.next_event(), ZMQ_EVENT_DISCONNECTED);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 1.0);
  RecordProperty("seconds", std::to_string(taken.count()));
  EXPECT_NE(revoked.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED) << "it was let in again";
  EXPECT_EQ(other.next_event(std::chrono::milliseconds(200)), 0) << "b was cut";
  EXPECT_TRUE(audit_says(R"("event":"keys_reloaded","principals":1,"revoked":["a"]})"));
}

TEST_F(KeyedServer, TheSignalHangUpReloadsAgainAndAgain) {
  server->stop();
  options.stop_on_signals = true;
  server = std::make_unique<RunningServer>(options);
  for (int i = 0; i < 3; ++i) {
    folder.write(text_of_a() + (i % 2 == 0 ? "" : principal_text("b", b.public_key, reader)));
    ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
    const std::string principals = i % 2 == 0 ? "1" : "2";
    EXPECT_TRUE(happens([&] {
      const std::string log = audit_log();
      return std::ranges::count(log, '\n') == i + 1 &&
             log.rfind("\"keys_reloaded\",\"principals\":" + principals) != std::string::npos;
    })) << audit_log();
  }
}

TEST_F(KeyedServer, AReloadLetsNewKeysIn) {
  const auto added = protocol::new_key_pair("c");
  folder.write(text_of_a() + principal_text("c", added.public_key, reader));
  server->reload_keys();
  ASSERT_TRUE(audit_says("keys_reloaded"));
  Connection peer = dealer(added);
  EXPECT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

/// Returns sections of the largest number of principals of a keys file, with about its largest
/// number of bytes.
std::string largest_keys_text() {
  std::string streams = "streams = [";
  for (int each = 0; each < 44; ++each) streams += "\"stream-" + std::to_string(each) + "*\", ";
  streams += "]\n";
  constexpr std::size_t count = 4096;
  std::string text;
  for (std::size_t each = 1; each < count; ++each) {
    const std::string number = std::to_string(each);
    text += "[[principal]]\nname = \"principal " + number + "\"\ntoken_sha256 = \"" +
            std::string(64 - number.size(), '0') + number + "\"\nroles = [\"query\"]\n" + streams +
            "objects = [\"0-999999\"]\n";
  }
  return text;
}

TEST_F(KeyedServer, AReloadOfTheLargestFileHoldsTheLoopForNoLongTime) {
  server->stop();
  std::atomic<std::int64_t> longest_ns = 0;
  std::atomic<bool> watches = false;
  options.watch_loop_turn = [&](std::int64_t turn_ns) {
    if (watches && turn_ns > longest_ns) longest_ns = turn_ns;
  };
  server = std::make_unique<RunningServer>(options);
  const std::string text = largest_keys_text();
  ASSERT_GT(text.size(), std::size_t{3} << 20);
  const auto added = protocol::new_key_pair("c");
  folder.write(principal_text("c", added.public_key, reader) + text);
  watches = true;
  server->reload_keys();
  ASSERT_TRUE(audit_says("\"keys_reloaded\",\"principals\":4096"));
  Connection peer = dealer(added);
  EXPECT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  const double longest_ms = static_cast<double>(longest_ns) / 1e6;
  std::printf("%zu bytes, longest turn %.2f ms\n", text.size(), longest_ms);
  EXPECT_LT(longest_ms, 10) << "twice the bound, because the machine may be loaded";
  server.reset();  // ends here, because it refers to variables of this test
}

TEST_F(KeyedServer, ABadFileChangesNothing) {
  Connection peer = dealer(a);
  ASSERT_EQ(peer.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  folder.write("[[principal]]\nname = 7\n");
  server->reload_keys();
  EXPECT_TRUE(audit_says("\"event\":\"keys_not_reloaded\",\"sentence\":\"the keys file "));
  EXPECT_EQ(peer.next_event(std::chrono::milliseconds(200)), 0) << "it was cut";
  Connection again = dealer(a);
  EXPECT_EQ(again.next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(KeyedServer, TheClientLibraryWorksWithAKey) {
  protocol::Client client = client_of(a);
  EXPECT_NO_THROW(client.get_stats());
}

TEST(KeyedServerOptions, KeysOpenCommandsAndResultsToOtherMachinesButNotHttp) {
  const KeysFolder folder;
  folder.write("");
  ServerOptions options = manual_options();
  options.keys_path = folder.path();
  options.commands_endpoint = "tcp://*:*";
  options.results_endpoint = "tcp://*:*";
  EXPECT_NO_THROW(Server(options, make_engine()));
  options.http_host = "0.0.0.0";
  EXPECT_THROW(Server(options, make_engine()), std::runtime_error);
}

TEST(KeyedServerOptions, ABadKeysFileIsAmongTheFaults) {
  const KeysFolder folder;
  folder.write("[others]\n");
  ServerOptions options = manual_options();
  options.keys_path = folder.path();
  const auto engine = make_engine();
  EXPECT_THAT(faults_of(options, engine->limits()),
              testing::ElementsAre(HasSubstr("line 3, column 2: \"others\" is no member")));
  EXPECT_THROW(Server(options, make_engine()), std::runtime_error);
}

}  // namespace
}  // namespace starling::stream
