// SPDX-License-Identifier: Apache-2.0
// Tests attacks on the commands and results endpoints by peers without a key: claimed identities,
// unfinished messages, half-open connections, endless topics, and replies that are never read.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/sockets/file_limit.hpp"
#include "starling/stream/sockets/results_socket.hpp"
#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/zmtp/echo_server.hpp"

namespace starling::stream {
namespace {

using zmtp::Fault;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

bool is_answered(zmq::context_t& context, const EchoServer& server) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 30'000);
  socket.connect(server.socket->endpoint());
  socket.send(zmq::str_buffer("question"), zmq::send_flags::none);
  zmq::message_t reply;
  return socket.recv(reply) && reply.to_string() == "question";
}

PlainConnection shaken(const std::string& endpoint, const std::string& type,
                       const std::string& identity = "") {
  PlainConnection peer(endpoint);
  peer.send(plain_greeting() + plain_ready(type, identity));
  peer.receive(64 + 2 + (type == "SUB" ? 26 : 28));  // the server's READY names XPUB or ROUTER
  return peer;
}

TEST(Attacks, AnIdentityThatAPeerClaimsIsNoName) {
  EchoServer server;
  zmq::context_t context;
  std::vector<PlainConnection> peers;
  // libzmq numbers its peers from here on. Its ROUTER aborts if a peer claims such a number.
  constexpr std::uint32_t first = 1'804'289'383;
  for (std::uint32_t number = 0; number < 300; ++number) {
    std::string identity(1, '\0');
    for (int shift = 24; shift >= 0; shift -= 8)
      identity += static_cast<char>((first + number) >> shift);
    peers.push_back(shaken(server.socket->endpoint(), "DEALER", identity));
    if (number % 100 == 0) {
      EXPECT_TRUE(is_answered(context, server));
    }
  }
  peers.push_back(shaken(server.socket->endpoint(), "DEALER", std::string(255, 'i')));
  EXPECT_TRUE(is_answered(context, server));
  // Two peers that claim the same identity stay two peers.
  PlainConnection one = shaken(server.socket->endpoint(), "DEALER", "twin");
  PlainConnection two = shaken(server.socket->endpoint(), "DEALER", "twin");
  one.send(long_frame(0, "one"));
  two.send(long_frame(0, "two"));
  EXPECT_EQ(one.receive(5).substr(2), "one");
  EXPECT_EQ(two.receive(5).substr(2), "two");
}

TEST(Attacks, AMessageThatNeverEndsIsCutAndTakesNoMemory) {
  EchoServer server;
  zmq::context_t context;
  const std::size_t before = resident_bytes();
  const std::string part = long_frame(1, std::string(mebibyte, 'x'));
  PlainConnection peer = shaken(server.socket->endpoint(), "DEALER");
  for (int count = 0; count < 1024 && peer.send(part); ++count) {
  }
  EXPECT_TRUE(peer.is_closed_within(30'000));
  EXPECT_TRUE(comes_true([&] { return server.cuts(Fault::too_many_parts) == 1; }));
  for (const std::uint64_t size : {std::uint64_t{17} << 20, ~std::uint64_t{0}}) {
    PlainConnection liar = shaken(server.socket->endpoint(), "DEALER");
    liar.send(long_frame(0, "", size));
    EXPECT_TRUE(liar.is_closed_within(30'000));
  }
  EXPECT_TRUE(comes_true([&] { return server.cuts(Fault::too_long) == 2; }));
  EXPECT_LE(resident_bytes(), before + 96 * mebibyte + sanitizer_bytes);
  EXPECT_TRUE(is_answered(context, server));
}

TEST(Attacks, UnfinishedRequestsOfManyPeersKeepNobodyOut) {
  CommandSocketOptions options;
  options.message_bytes_max = 4 * mebibyte;
  options.receive_bytes_max = 16 * mebibyte;
  EchoServer server(options);
  zmq::context_t context;
  const std::size_t before = resident_bytes();
  std::vector<PlainConnection> peers;
  for (int count = 0; count < 64; ++count) {
    peers.push_back(shaken(server.socket->endpoint(), "DEALER"));
    peers.back().send(long_frame(0, std::string(100'000, 'x'), 4 * mebibyte));
  }
  EXPECT_TRUE(is_answered(context, server)) << "a short request waits for no long one";
  EXPECT_LE(resident_bytes(), before + 64 * mebibyte + sanitizer_bytes);
  // Another peer's long request gets its turn, because the unfinished ones are cut.
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 300'000);
  socket.connect(server.socket->endpoint());
  socket.send(zmq::buffer(std::string(2 * mebibyte, 'y')), zmq::send_flags::none);
  zmq::message_t reply;
  EXPECT_TRUE(socket.recv(reply));
  EXPECT_GT(server.cuts(Fault::stalled), 0u);
}

TEST(Attacks, RequestsWhoseSecondPartWaitsForRoomKeepNobodyOut) {
  CommandSocketOptions options;
  options.message_bytes_max = 4 * mebibyte;
  options.receive_bytes_max = 16 * mebibyte;
  EchoServer server(options);
  zmq::context_t context;
  constexpr std::uint8_t more = 1;
  std::vector<PlainConnection> peers;
  for (int count = 0; count < 8; ++count) {
    peers.push_back(shaken(server.socket->endpoint(), "DEALER"));
    peers.back().send(long_frame(more, std::string(3 * mebibyte, 'x')) +
                      long_frame(0, "", mebibyte / 2));
  }
  zmq::socket_t socket(context, zmq::socket_type::req);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 60'000);
  socket.connect(server.socket->endpoint());
  socket.send(zmq::buffer(std::string(2 * mebibyte, 'y')), zmq::send_flags::none);
  zmq::message_t reply;
  EXPECT_TRUE(socket.recv(reply));
  EXPECT_GT(server.cuts(Fault::stalled), 0u);
}

TEST(Attacks, ThousandsOfHalfOpenConnectionsKeepNobodyOut) {
  raise_file_limit();
  EchoServer server;
  zmq::context_t context;
  std::vector<PlainConnection> peers;
  for (int count = 0; count < 4096; ++count) {
    peers.emplace_back(server.socket->endpoint());
    if (count % 3 == 0) peers.back().send(plain_greeting());
  }
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(is_answered(context, server));
  EXPECT_LE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  EXPECT_GT(server.cuts(Fault::gave_way) + server.cuts(Fault::too_late), 0u);
  EXPECT_TRUE(comes_true([&] {
    return server.cuts(Fault::gave_way) + server.cuts(Fault::too_late) == 4096;
  })) << "each of them is gone in the end";
}

TEST(Attacks, ASubscriberThatSubscribesWithoutEndIsReadMoreSlowlyAfterABurst) {
  zmtp::IoThreads threads(1);
  ResultsSocketOptions options;
  options.endpoint = "tcp://127.0.0.1:*";
  ResultsSocket results(threads, options);
  PlainConnection peer = shaken(results.endpoint(), "SUB");
  const std::string joins = long_frame(0, std::string("\1topic"));
  const std::string leaves = long_frame(0, std::string("\0topic", 6));
  std::string all;
  for (int count = 0; count < 30'000; ++count) all += joins + leaves;
  const auto begun = std::chrono::steady_clock::now();
  std::thread churn([&] { EXPECT_TRUE(peer.send(all)); });
  ASSERT_TRUE(comes_true([&] { return results.join_count() >= 10'000; }));
  PlainConnection other = shaken(results.endpoint(), "SUB");
  other.send(long_frame(0, std::string("\1other")));
  EXPECT_TRUE(comes_true([&] { return results.subscriber_count("other") == 1; }));
  EXPECT_LT(results.join_count(), 30'001u) << "the other had its turn before the end";
  EXPECT_TRUE(comes_true([&] { return results.join_count() == 30'001; }));
  // The burst is 512 KiB of these 900 kB. The rest comes at 100 kB a second.
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
  churn.join();
}

TEST(Attacks, RepliesThatNobodyReadsAreDroppedBeyondTheirBudget) {
  CommandSocketOptions options;
  options.peer_reply_bytes_max = 32 * mebibyte;
  EchoServer server(options);
  zmq::context_t context;
  const std::size_t before = resident_bytes();
  PlainConnection peer = shaken(server.socket->endpoint(), "DEALER");
  const std::string request = long_frame(0, std::string(mebibyte, 'x'));
  for (int count = 0; count < 1000; ++count) ASSERT_TRUE(peer.send(request));
  ASSERT_TRUE(comes_true([&] { return server.requests == 1000; }));
  EXPECT_LE(server.socket->reply_bytes(), 32 * mebibyte);
  EXPECT_LE(resident_bytes(), before + 64 * mebibyte + sanitizer_bytes);
  EXPECT_TRUE(is_answered(context, server));
}

TEST(Attacks, RepliesToManyWhoDoNotReadHaveOneBudgetAndWhoReadsIsAnswered) {
  CommandSocketOptions options;
  options.reply_bytes_max = 16 * mebibyte;
  EchoServer server(options);
  zmq::context_t context;
  std::vector<PlainConnection> peers;
  const std::string request = long_frame(0, std::string(mebibyte, 'x'));
  for (int peer = 0; peer < 8; ++peer) {
    peers.push_back(shaken(server.socket->endpoint(), "DEALER"));
    for (int count = 0; count < 20; ++count) ASSERT_TRUE(peers.back().send(request));
  }
  ASSERT_TRUE(comes_true([&] { return server.requests == 160; }));
  // Each peer may have one reply, and all peers together have 16 MiB beyond that.
  EXPECT_LE(server.socket->reply_bytes(), 25 * mebibyte);
  EXPECT_TRUE(is_answered(context, server));
}

TEST(Attacks, RepliesToAllConnectionsOfAPrincipalHaveOneBudget) {
  CommandSocketOptions options;
  options.principal_reply_bytes_max = [](zmtp::PrincipalId) { return 8 * mebibyte; };
  EchoServer server(options);
  std::vector<PlainConnection> peers;
  const std::string request = long_frame(0, std::string(mebibyte, 'x'));
  for (int peer = 0; peer < 4; ++peer) {
    peers.push_back(shaken(server.socket->endpoint(), "DEALER"));
    for (int count = 0; count < 20; ++count) ASSERT_TRUE(peers.back().send(request));
  }
  ASSERT_TRUE(comes_true([&] { return server.requests == 80; }));
  EXPECT_LE(server.socket->reply_bytes(), 8 * mebibyte);
  zmq::context_t context;
  EXPECT_TRUE(is_answered(context, server)) << "a short reply is sent to whom nothing waits";
}

TEST(Attacks, TopicsWithoutNumberCutTheirConnectionAndNoOther) {
  zmtp::IoThreads threads(1);
  ResultsSocket results(threads,
                        {.endpoint = "tcp://127.0.0.1:*", .subscriber_bytes_max = 8 * mebibyte});
  zmq::context_t context;
  zmq::socket_t witness(context, zmq::socket_type::sub);
  witness.set(zmq::sockopt::linger, 0);
  witness.set(zmq::sockopt::rcvtimeo, 30'000);
  witness.set(zmq::sockopt::subscribe, protocol::topic_of("witness"));
  witness.connect(results.endpoint());
  ASSERT_TRUE(comes_true([&] { return results.subscriber_count() == 1; }));
  const std::size_t before = resident_bytes();
  PlainConnection many = shaken(results.endpoint(), "SUB");
  for (int topic = 0; topic < 25'000; ++topic)
    if (!many.send(long_frame(4, "\11SUBSCRIBE" + std::to_string(topic)))) break;
  EXPECT_TRUE(many.is_closed_within(30'000));
  PlainConnection longs = shaken(results.endpoint(), "SUB");
  for (int topic = 0; topic < 25'000; ++topic)
    if (!longs.send(long_frame(0, "\1" + std::to_string(topic) + std::string(4090, 't')))) break;
  EXPECT_TRUE(longs.is_closed_within(30'000));
  EXPECT_TRUE(comes_true([&] {
    return results.faults().of(Fault::topics) == 1 && results.faults().of(Fault::too_long) == 1;
  }));
  EXPECT_LE(resident_bytes(), before + 16 * mebibyte + sanitizer_bytes);
  ASSERT_TRUE(comes_true([&] { return results.subscriber_count() == 1; }));
  std::vector<protocol::TickMessage> messages(1);
  messages[0].topic = protocol::topic_of("witness");
  messages[0].header = frame_of(std::as_bytes(std::span("h", 1)));
  results.send(std::move(messages));
  zmq::message_t part;
  EXPECT_TRUE(witness.recv(part));
}

}  // namespace
}  // namespace starling::stream
