// SPDX-License-Identifier: Apache-2.0
// Tests TlsRelay between a client and a plain socket: bytes and ends in both directions, its limits
// on time and connections, and hostile clients.
#include "starling/stream/tls/tls_relay.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/stream/support/running_server.hpp"
#include "tests/stream/tls/tls_client.hpp"
#include "tests/stream/tls/tls_folder.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using Tcp = boost::asio::ip::tcp;

/// A relay, and an acceptor in the place of HttpServer.
class RelayWorld {
 public:
  explicit RelayWorld(const TlsLimits& limits = {})
      : relay(std::make_unique<TlsRelay>(folder.files(), limits)) {}

  std::string endpoint() const {
    return "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  }

  /// Accepts a connection. Returns the relay's plain socket; the calls on it block.
  Tcp::socket accept() {
    Tcp::socket plain = relay->secured(acceptor.accept()).value();
    const timeval wait{.tv_sec = patience.count(), .tv_usec = 0};
    setsockopt(plain.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    return plain;
  }
  bool has_connections(std::size_t count) const {
    return happens([&] { return relay->counts().connections == count; });
  }

  TlsFolder folder;
  boost::asio::io_context loop;
  Tcp::acceptor acceptor{loop, {boost::asio::ip::address_v4::loopback(), 0}};
  std::unique_ptr<TlsRelay> relay;
};

bool send_all(Tcp::socket& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Returns the bytes that come until the other side ends, but at most `size_max` bytes.
std::string received_of(Tcp::socket& socket, std::size_t size_max = SIZE_MAX) {
  std::string all;
  std::array<char, 16384> part{};
  while (all.size() < size_max) {
    const ssize_t count =
        recv(socket.native_handle(), part.data(), std::min(part.size(), size_max - all.size()), 0);
    if (count <= 0) break;
    all.append(part.data(), static_cast<std::size_t>(count));
  }
  return all;
}

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  test::Random random(seed);
  std::string bytes(size, '\0');
  for (char& each : bytes) each = static_cast<char>(random.below(256));
  return bytes;
}

/// Returns the bytes of TLS that a client sends at the beginning.
std::string client_hello() {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), SSL_free);
  SSL_set_bio(tls.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_connect(tls.get());
  std::string bytes(4096, '\0');
  const int size = BIO_read(SSL_get_wbio(tls.get()), bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max(size, 0)));
  return bytes;
}

TEST(TlsRelayTest, BytesArriveUnchangedInBothDirectionsAtOnce) {
  RelayWorld world;
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  const std::string sent = random_bytes(3'000'001, 1);
  std::thread echo([&] {
    for (std::string part = "-"; !part.empty();) {
      part = received_of(plain, 1000);
      send_all(plain, part);
      if (part.size() < 1000) break;
    }
    plain.close();
  });
  std::string received;
  for (std::size_t begin = 0; begin < sent.size(); begin += 10'007) {
    ASSERT_TRUE(client.send(std::string_view(sent).substr(begin, 10'007)));
    while (received.size() + 100'000 < begin) received += client.receive();
  }
  EXPECT_TRUE(client.end_sending());
  received += client.receive_to_end();
  echo.join();
  EXPECT_TRUE(received == sent);
  EXPECT_TRUE(client.is_clean()) << client.why();
  EXPECT_TRUE(world.has_connections(0));
}

TEST(TlsRelayTest, AClientThatEndsItsSideStillGetsItsAnswer) {
  RelayWorld world;
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  ASSERT_TRUE(client.send("question"));
  ASSERT_TRUE(client.end_sending());
  EXPECT_EQ(received_of(plain), "question");
  const std::string answer = random_bytes(1'000'000, 2);
  std::thread sender([&] {
    EXPECT_TRUE(send_all(plain, answer));
    plain.close();
  });
  EXPECT_TRUE(client.receive_to_end() == answer);
  sender.join();
  EXPECT_TRUE(client.is_clean()) << client.why();
}

TEST(TlsRelayTest, AServerThatEndsItsSideStillReads) {
  RelayWorld world;
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  ASSERT_TRUE(send_all(plain, "answer"));
  plain.shutdown(Tcp::socket::shutdown_send);
  EXPECT_EQ(client.receive_to_end(), "answer");
  EXPECT_TRUE(client.is_clean()) << client.why();
  const std::string body = random_bytes(1'000'000, 3);
  std::thread sender([&] {
    EXPECT_TRUE(client.send(body));
    client.end_sending();
  });
  EXPECT_TRUE(received_of(plain) == body);
  sender.join();
}

TEST(TlsRelayTest, AnAnswerArrivesAlthoughBytesBehindTheRequestAreNotRead) {
  RelayWorld world;
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  const std::string answer = random_bytes(100'000, 4);
  std::thread sender([&] { client.send(std::string(1'000'000, 'x')); });
  EXPECT_EQ(received_of(plain, 10).size(), 10u);
  ASSERT_TRUE(send_all(plain, answer));
  plain.close();
  sender.join();
  EXPECT_EQ(client.receive_to_end().size(), answer.size()) << client.why();
}

TEST(TlsRelayTest, AConnectionThatIsCutEndsTheServersSide) {
  RelayWorld world;
  for (const bool is_reset : {false, true}) {
    TlsClient client(world.endpoint());
    Tcp::socket plain = world.accept();
    ASSERT_TRUE(client.shake_hands()) << client.why();
    ASSERT_TRUE(client.send("half a requ"));
    EXPECT_EQ(received_of(plain, 11), "half a requ");
    is_reset ? client.reset() : client.cut();
    EXPECT_EQ(received_of(plain), "");
    EXPECT_TRUE(world.has_connections(0));
  }
}

TEST(TlsRelayTest, AHandshakeThatDoesNotEndIsCutInTime) {
  RelayWorld world({.handshake_us = 50'000});
  const TcpClient silent(world.endpoint());
  Tcp::socket plain_of_silent = world.accept();
  const TcpClient partial(world.endpoint());
  Tcp::socket plain_of_partial = world.accept();
  EXPECT_TRUE(partial.send_plain(client_hello().substr(0, 100)));
  const TcpClient unfinished(world.endpoint());  // does not go on with the handshake
  Tcp::socket plain_of_unfinished = world.accept();
  EXPECT_TRUE(unfinished.send_plain(client_hello()));
  for (const TcpClient* each : {&silent, &partial, &unfinished})
    EXPECT_TRUE(each->is_ended_by_server());
  for (Tcp::socket* each : {&plain_of_silent, &plain_of_partial, &plain_of_unfinished})
    EXPECT_EQ(received_of(*each), "");
  EXPECT_EQ(world.relay->counts().failed, 3u);
  EXPECT_EQ(world.relay->counts().handshakes, 0u);
}

TEST(TlsRelayTest, AServerThatClosesDuringTheHandshakeEndsTheConnection) {
  RelayWorld world;
  const TcpClient silent(world.endpoint());
  Tcp::socket plain = world.accept();
  plain.close();
  EXPECT_TRUE(silent.is_ended_by_server());
  EXPECT_TRUE(world.has_connections(0));
}

TEST(TlsRelayTest, AClientThatTakesNothingIsCut) {
  RelayWorld world({.stall_us = 50'000});
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  const std::string part(65536, 'x');
  while (send_all(plain, part)) {
  }
  EXPECT_EQ(world.relay->counts().stalled, 1u);
  EXPECT_TRUE(world.has_connections(0));
}

TEST(TlsRelayTest, AClientThatOnlyIsSilentStays) {
  RelayWorld world({.handshake_us = 1'000'000, .stall_us = 50'000, .last_bytes_us = 50'000});
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  // The end of another connection shows that the limits of time have passed.
  const TcpClient silent(world.endpoint());
  Tcp::socket plain_of_silent = world.accept();
  EXPECT_TRUE(silent.is_ended_by_server());
  ASSERT_TRUE(client.send("question"));
  EXPECT_EQ(received_of(plain, 8), "question");
}

TEST(TlsRelayTest, AClientThatRenewsItsKeysWithoutEndDoesNotHoldOthers) {
  RelayWorld world;
  TlsClient flooder(world.endpoint());
  Tcp::socket plain_of_flooder = world.accept();
  ASSERT_TRUE(flooder.shake_hands()) << flooder.why();
  std::atomic<bool> is_over{false};
  std::atomic<int> renewals{0};
  std::thread flood([&] {
    while (!is_over && SSL_key_update(flooder.tls(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           SSL_do_handshake(flooder.tls()) == 1)
      ++renewals;
  });
  EXPECT_TRUE(happens([&] { return renewals > 10'000; }));
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  EXPECT_TRUE(client.shake_hands()) << client.why();
  EXPECT_TRUE(client.send("question"));
  EXPECT_EQ(received_of(plain, 8), "question");
  is_over = true;
  flood.join();
  ASSERT_TRUE(flooder.send("behind the flood"));
  EXPECT_EQ(received_of(plain_of_flooder, 16), "behind the flood");
}

TEST(TlsRelayTest, BeyondTheLimitAFurtherConnectionIsClosed) {
  RelayWorld world({.connections_max = 2});
  std::deque<TlsClient> clients;
  std::vector<Tcp::socket> sockets;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(world.endpoint());
    sockets.push_back(world.accept());
    ASSERT_TRUE(clients.back().shake_hands()) << clients.back().why();
  }
  TlsClient refused(world.endpoint());
  Tcp::socket plain = world.accept();
  EXPECT_FALSE(refused.shake_hands());
  EXPECT_EQ(received_of(plain), "");
  EXPECT_EQ(world.relay->counts().refused, 1u);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ASSERT_TRUE(clients[i].send("still here"));
    EXPECT_EQ(received_of(sockets[i], 10), "still here");
  }
}

TEST(TlsRelayTest, AtTheLimitOneThatOnlyHasLastBytesMakesRoom) {
  RelayWorld world({.connections_max = 1});
  TlsClient slow(world.endpoint(), {.receive_bytes = 4096});
  {
    Tcp::socket plain = world.accept();
    ASSERT_TRUE(slow.shake_hands()) << slow.why();
    plain.native_non_blocking(true);
    const std::string part(65536, 'x');
    while (send(plain.native_handle(), part.data(), part.size(), MSG_NOSIGNAL) > 0) {
    }
  }
  TlsClient next(world.endpoint());
  Tcp::socket plain = world.accept();
  EXPECT_TRUE(next.shake_hands()) << next.why();
}

TEST(TlsRelayTest, HostileBytesLeaveItAlive) {
  RelayWorld world;
  const std::string hello = client_hello();
  for (const std::uint64_t seed : test::seeds(1)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    for (int i = 0; i < 600; ++i) {
      const auto garbage = [&](std::size_t size_max) {
        return random_bytes(1 + random.below(size_max), random.next());
      };
      switch (random.below(4)) {
        case 0: {
          const TcpClient client(world.endpoint());
          Tcp::socket plain = world.accept();
          client.send_plain(garbage(40'000));
          break;
        }
        case 1: {  // a hello with a few other bytes
          std::string bytes = hello;
          for (std::uint64_t count = 1 + random.below(8); count > 0; --count)
            bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
          const TcpClient client(world.endpoint());
          Tcp::socket plain = world.accept();
          client.send_plain(bytes.substr(0, 1 + random.below(bytes.size())));
          break;
        }
        case 2: {  // records with a valid head
          const TcpClient client(world.endpoint());
          Tcp::socket plain = world.accept();
          for (int record = 0; record < 20; ++record) {
            const std::string body = garbage(2000);
            const auto size = body.size();
            client.send_plain(std::string{static_cast<char>(20 + random.below(5)), 3, 3,
                                          static_cast<char>(size >> 8),
                                          static_cast<char>(size & 255)} +
                              body);
          }
          break;
        }
        default: {  // after a handshake
          TlsClient client(world.endpoint());
          Tcp::socket plain = world.accept();
          ASSERT_TRUE(client.shake_hands()) << client.why();
          client.send_plain(std::string{23, 3, 3, 0, 64} + random_bytes(64, random.next()));
          EXPECT_EQ(received_of(plain), "") << "damaged bytes were passed on";
        }
      }
    }
  }
  EXPECT_TRUE(world.has_connections(0));
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  ASSERT_TRUE(client.send("question"));
  EXPECT_EQ(received_of(plain, 8), "question");
}

TEST(TlsRelayTest, ItsEndCutsTheOpenConnections) {
  RelayWorld world;
  TlsClient client(world.endpoint());
  Tcp::socket plain = world.accept();
  ASSERT_TRUE(client.shake_hands()) << client.why();
  const TcpClient silent(world.endpoint());
  Tcp::socket plain_of_silent = world.accept();
  world.relay.reset();
  EXPECT_EQ(client.receive(), "");
  EXPECT_TRUE(silent.is_ended_by_server());
  EXPECT_EQ(received_of(plain), "");
}

}  // namespace
}  // namespace starling::stream
