// SPDX-License-Identifier: Apache-2.0
// Tests producers whose connection breaks in the middle of a request. The test sends the bytes of
// ZMTP over a plain TCP socket, and cuts them off at every place. The server must not apply an
// incomplete request, and the producer can send the request again.
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

constexpr std::size_t greeting_bytes = 64;

/// Returns the greeting of ZMTP 3.0 with the security mechanism NULL.
std::string greeting() {
  std::string bytes = std::string("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16);
  bytes.resize(greeting_bytes, '\0');
  return bytes;
}

constexpr char more = 1;
constexpr char is_long = 2;
constexpr char is_command = 4;

std::string frame_of(char flags, const std::string& body) {
  std::string bytes(1, static_cast<char>(flags | is_long));
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(static_cast<std::uint64_t>(body.size()) >> shift);
  return bytes + body;
}

std::string ready() {
  return frame_of(is_command, std::string("\5READY\13Socket-Type\0\0\0\6DEALER", 28));
}

/// Plays a ZeroMQ DEALER socket over TCP. It sends exactly the bytes that a test gives it.
class PlainPeer {
 public:
  explicit PlainPeer(const std::string& endpoint) : socket_(loop_) {
    const std::string address = endpoint.substr(std::string("tcp://").size());
    const std::size_t colon = address.rfind(':');
    socket_.connect({asio::ip::make_address(address.substr(0, colon)),
                     static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
  }

  void send(std::string_view bytes) { asio::write(socket_, asio::buffer(bytes)); }

  /// Exchanges greetings and READY commands. ZMTP forbids other frames before the server's READY.
  void shake_hands() {
    send(greeting() + ready());
    std::string theirs(greeting_bytes + 2, '\0');
    asio::read(socket_, asio::buffer(theirs));
    std::string command(static_cast<unsigned char>(theirs.back()), '\0');
    asio::read(socket_, asio::buffer(command));
  }

  /// Closes the connection. If `by_reset`, it is closed by a TCP reset, as when the process of a
  /// peer dies.
  void vanish(bool by_reset) {
    if (by_reset) socket_.set_option(asio::socket_base::linger(true, 0));
    socket_.close();
  }

 private:
  asio::io_context loop_;
  Tcp::socket socket_;
};

class TornConnection : public testing::Test {
 protected:
  TornConnection() { fixes.add(7, 1, 3, 4); }

  std::string update() const {
    return encoded({.request_id = 1, .session = session, .sequence = 1}, fixes.batch());
  }
  std::string resume() const {
    return encoded({}, protocol::Hello{.client = "raw", .resume_session = session});
  }
  double accepted() { return server.stat("starling_rows_total{outcome=\"accepted\"}"); }

  RunningServer server;
  RawPeer peer{server.context(), server.endpoints().commands};
  std::uint64_t session = peer.hello();
  Fixes fixes;
};

TEST_F(TornConnection, ARequestCutOffAnywhereIsNotAppliedAndItsResendIsOnce) {
  const std::string hello = greeting() + ready();
  for (std::size_t sent = 0; sent < hello.size(); ++sent) {
    PlainPeer torn(server.endpoints().commands);
    torn.send(std::string_view(hello).substr(0, sent));
    torn.vanish(sent % 2 == 0);
  }
  const std::string request = frame_of(more, "") + frame_of(0, update());
  for (std::size_t sent = 0; sent < request.size(); ++sent) {
    PlainPeer torn(server.endpoints().commands);
    torn.shake_hands();
    torn.send(frame_of(more, "") + frame_of(0, resume()));
    torn.send(std::string_view(request).substr(0, sent));
    torn.vanish(sent % 2 == 0);
    ASSERT_EQ(accepted(), 0) << "after " << sent << " bytes";
  }
  ASSERT_TRUE(peer.ask(resume()));
  EXPECT_EQ(accepted(), 0);
  for (int time = 0; time < 2; ++time) {
    const auto reply = peer.ask(update());
    ASSERT_TRUE(reply);
    EXPECT_EQ(std::get<protocol::BatchReply>(reply->decoded.body).accepted, 1u);
  }
  EXPECT_EQ(accepted(), 1);
}

TEST_F(TornConnection, ARequestThatCameWholeIsAppliedOnceThoughItsReplyFoundNobody) {
  PlainPeer torn(server.endpoints().commands);
  torn.shake_hands();
  torn.send(frame_of(more, "") + frame_of(0, resume()));
  torn.send(frame_of(more, "") + frame_of(0, update()));
  ASSERT_TRUE(happens([&] { return accepted() == 1; }));
  torn.vanish(true);
  ASSERT_TRUE(peer.ask(resume()));
  const auto again = peer.ask(update());
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<protocol::BatchReply>(again->decoded.body).accepted, 1u);
  EXPECT_EQ(accepted(), 1);
}

TEST_F(TornConnection, ProducersThatVanishByTheHundredLeaveTheServerExact) {
  test::Random random(1);
  Witness witness(server);
  const std::string request = frame_of(0, update());
  for (int round = 0; round < 300; ++round) {
    PlainPeer torn(server.endpoints().commands);
    if (random.chance(0.9)) torn.shake_hands();
    torn.send(std::string_view(request).substr(0, random.below(request.size())));
    torn.vanish(random.chance(0.5));
    if (round % 30 == 0) witness.move_and_expect_exact(random);
  }
  witness.move_and_expect_exact(random);
}

}  // namespace
}  // namespace starling::stream
