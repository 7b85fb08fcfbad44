// SPDX-License-Identifier: Apache-2.0
// Tests the C++ client and subscriber with the keys of a server. They work with the right key, and
// report at once what is wrong with another key.
#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/subscriber.hpp"
#include "starling/protocol/keys/key_file.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/results_socket.hpp"
#include "tests/stream/zmtp/greeting_server.hpp"

namespace starling::stream {
namespace {

using protocol::Client;
using protocol::ClientOptions;
using protocol::KeyError;
using protocol::KeyPair;
using testing::AllOf;
using testing::HasSubstr;

class ClientKeys : public testing::Test {
 protected:
  ClientKeys()
      : server_key(protocol::new_key_pair("server")), key(protocol::new_key_pair("rider")) {
    key.server_key = server_key.public_key;
    authentication.server_public = server_key.public_key;
    authentication.server_secret = server_key.secret_key;
    authentication.admit = [this](const zmtp::PublicKey& peer) -> std::optional<zmtp::PrincipalId> {
      if (admits && peer == key.public_key) return zmtp::PrincipalId{7};
      return std::nullopt;
    };
  }

  static ClientOptions options(const GreetingServer& server, std::optional<KeyPair> with) {
    return {.commands = server.endpoint(), .key = std::move(with)};
  }
  /// Returns the sentence of the KeyError, which must come long before the time-out.
  std::string refusal(const ClientOptions& given) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      const Client client(context, given);
      ADD_FAILURE() << "the server has answered";
    } catch (const KeyError& error) {
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
      return error.what();
    }
    return {};
  }

  KeyPair server_key;
  KeyPair key;
  std::atomic<bool> admits{true};
  zmtp::Authentication authentication;
  zmq::context_t context;
};

TEST_F(ClientKeys, TheRightOneIsAdmitted) {
  const GreetingServer server(&authentication);
  Client client(context, options(server, key));
  EXPECT_EQ(client.epoch(), 1u);
  EXPECT_TRUE(client.put_stream({.name = "riders"}));
}

TEST_F(ClientKeys, OneThatTheServerDoesNotKnowIsRefusedAtOnceAndShown) {
  const GreetingServer server(&authentication);
  KeyPair other = protocol::new_key_pair("stranger");
  other.server_key = server_key.public_key;
  EXPECT_THAT(refusal(options(server, other)),
              AllOf(HasSubstr("does not admit the key \"stranger\""),
                    HasSubstr("public = \"" + protocol::to_z85(other.public_key) + "\"")));
}

TEST_F(ClientKeys, NoneIsRefusedAtOnce) {
  const GreetingServer server(&authentication);
  EXPECT_THAT(refusal(options(server, std::nullopt)),
              AllOf(HasSubstr("admits only clients with a key"), HasSubstr("--key")));
}

TEST_F(ClientKeys, OneForAServerWithoutKeysIsRefusedAtOnce) {
  const GreetingServer server(nullptr);
  EXPECT_THAT(refusal(options(server, key)), HasSubstr("has no keys, and would not encrypt"));
}

TEST_F(ClientKeys, OneWithTheKeyOfAnotherServerIsRefusedSoon) {
  const GreetingServer server(&authentication);
  key.server_key = protocol::new_key_pair("another").public_key;
  EXPECT_THAT(refusal(options(server, key)),
              AllOf(HasSubstr("ends each handshake"),
                    HasSubstr("public key is not \"" + protocol::to_z85(*key.server_key))));
}

TEST_F(ClientKeys, OneWithTheKeyOfAnotherServerIsRefusedAlsoByAClientThatReconnectsOften) {
  const GreetingServer server(&authentication);
  key.server_key = protocol::new_key_pair("another").public_key;
  ClientOptions given = options(server, key);
  given.reconnect_after_ms = 200;
  EXPECT_THAT(refusal(given), HasSubstr("ends each handshake"));
  given.timeout_ms = 1000;
  EXPECT_THAT(refusal(given), HasSubstr("ends each handshake"));
}

TEST_F(ClientKeys, OneWithoutAServerIsRefusedBeforeItConnects) {
  const GreetingServer server(&authentication);
  key.server_key.reset();
  EXPECT_THAT(refusal(options(server, key)),
              AllOf(HasSubstr("names no server"), HasSubstr("--server-key")));
}

TEST_F(ClientKeys, OneThatIsRevokedIsRefusedAndAdmittedAgainLater) {
  GreetingServer server(&authentication);
  ClientOptions given = options(server, key);
  given.reconnect_after_ms = 200;
  given.timeout_ms = 10'000;
  Client client(context, given);
  admits = false;
  server.cut_all();
  for (int time = 0; time < 3; ++time)
    EXPECT_THROW(static_cast<void>(client.put_stream({.name = "riders"})), KeyError) << time;
  admits = true;
  EXPECT_TRUE(client.put_stream({.name = "riders"}));
}

TEST_F(ClientKeys, APostedBatchSurvivesTheRevocation) {
  GreetingServer server(&authentication);
  ClientOptions given = options(server, key);
  given.reconnect_after_ms = 200;
  Client client(context, given);
  admits = false;
  server.cut_all();
  constexpr std::uint64_t ids[] = {1};
  constexpr std::int64_t times_us[] = {1};
  for (int time = 0; time < 100; ++time)
    EXPECT_FALSE(client.post(protocol::RemoveObjects{ids, times_us}));
  EXPECT_THROW(client.flush(), KeyError);
  admits = true;
  EXPECT_FALSE(client.flush().first_refusal);
}

TEST_F(ClientKeys, ASubscriberTakesTicksWithItAndNoneWithoutIt) {
  const GreetingServer server(&authentication);
  zmtp::IoThreads threads(1);
  ResultsSocket results(threads, {.endpoint = "tcp://127.0.0.1:*",
                                  .subscriber_bytes_max = std::size_t{1} << 20,
                                  .linger_ms = 500,
                                  .io_threads = {0, 1},
                                  .authentication = &authentication});
  protocol::Subscriber subscriber(context, {.results = results.endpoint(),
                                            .client = options(server, key),
                                            .subscription = {.stream = "riders"}});
  EXPECT_TRUE(
      comes_true([&] { return results.subscriber_count(protocol::topic_of("riders")) == 1; }));
  EXPECT_THROW(protocol::Subscriber(context, {.results = results.endpoint(),
                                              .client = options(server, std::nullopt),
                                              .subscription = {.stream = "riders"}}),
               KeyError);
}

TEST_F(ClientKeys, ASubscriberWhoseKeyIsRevokedSaysSoAndSubscribesAgainLater) {
  GreetingServer server(&authentication);
  zmtp::IoThreads threads(1);
  ResultsSocket results(threads, {.endpoint = "tcp://127.0.0.1:*",
                                  .subscriber_bytes_max = std::size_t{1} << 20,
                                  .linger_ms = 500,
                                  .io_threads = {0, 1},
                                  .authentication = &authentication});
  ClientOptions given = options(server, key);
  given.reconnect_after_ms = 200;
  protocol::Subscriber subscriber(context, {.results = results.endpoint(),
                                            .client = given,
                                            .subscription = {.stream = "riders"},
                                            .report_interval_ms = 10,
                                            .retry_interval_ms = 10});
  const auto has_topic = [&](std::size_t count) {
    return results.subscriber_count(protocol::topic_of("riders")) == count;
  };
  ASSERT_TRUE(comes_true([&] { return has_topic(1); }));
  admits = false;
  server.cut_all();
  results.cut([](zmtp::PrincipalId) { return true; });
  EXPECT_TRUE(comes_true([&] {
    subscriber.poll(1);
    return subscriber.obstacle().find("does not admit the key") != std::string::npos;
  }));
  EXPECT_TRUE(comes_true([&] { return has_topic(0); }));
  admits = true;
  EXPECT_TRUE(comes_true([&] {
    subscriber.poll(1);
    return has_topic(1);
  }));
}

}  // namespace
}  // namespace starling::stream
