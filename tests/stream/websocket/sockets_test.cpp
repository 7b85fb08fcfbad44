// SPDX-License-Identifier: Apache-2.0
// Tests what a WebSocket carries besides views. Replies are those of the commands endpoint, and
// Follow brings the messages of the results socket. Also tests the limits of views, and the ends of
// sockets.
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/stream/support/socket_client.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using ::testing::HasSubstr;

constexpr const char* views_used = "starling_limit_used{name=\"http-views-max\"}";
const protocol::View everything{
    .rectangle = {-10, -10, 1000, 1000}, .ticks_per_s = 1000, .bytes_per_s = 100'000'000};

protocol::Frame request_frame(std::uint64_t request_id, std::uint64_t of_session,
                              const protocol::RequestBody& asked) {
  return protocol::encode_request({request_id, of_session, 0}, asked);
}

ErrorCode error_of(const SocketBytes& reply) {
  const protocol::AlignedBytes aligned(reply);
  const auto decoded = protocol::decode_reply(aligned);
  if (decoded.problem) return decoded.problem->code;
  const auto* error = std::get_if<protocol::ErrorReply>(&decoded.body);
  return error == nullptr ? ErrorCode::none : error->problem.code;
}

class Sockets : public testing::Test {
 protected:
  explicit Sockets(const ServerOptions& options = manual_options())
      : server(options), client(server.client()), socket(server.endpoints().http) {
    EXPECT_EQ(socket.connect(), 101u);
  }

  void put_objects(std::uint64_t count) {
    Fixes fixes;
    ++tau_us;
    for (std::uint64_t id = 0; id < count; ++id)
      fixes.add(id, tau_us, static_cast<double>(id % 1000), static_cast<double>(tau_us % 7));
    ASSERT_TRUE(client.update(fixes.batch()));
  }
  void tick() { ASSERT_TRUE(client.advance_tick(++tau_us)); }
  ErrorCode refusal_of(const protocol::SocketBody& asked) {
    return error_of(socket.reply(socket.ask(asked)));
  }

  RunningServer server;
  protocol::Client client;
  SocketClient socket;
  std::int64_t tau_us = 1'700'000'000'000'000;
};

TEST_F(Sockets, RepliesAreThoseOfTheCommandsEndpoint) {
  put_objects(50);
  ASSERT_TRUE(client.put_stream({.name = "riders"}));
  ASSERT_TRUE(client.put_queries({"riders", {nearest_to(5, 3, 10, 0)}}));
  tick();
  RawPeer peer(server.context(), server.endpoints().commands);
  const std::uint64_t peers = peer.hello();
  socket.send(request_frame(1, 0, protocol::Hello{.client = "a page"}).bytes());
  const SocketBytes hello = socket.reply(1);
  const protocol::AlignedBytes aligned(hello);
  const auto decoded = protocol::decode_reply(aligned);
  const std::uint64_t own = std::get<protocol::HelloReply>(decoded.body).session;
  ASSERT_NE(own, 0u);
  const std::vector<std::uint64_t> ids{3, 77, 4};
  std::uint64_t number = 10;
  for (const protocol::RequestBody& asked : std::vector<protocol::RequestBody>{
           protocol::GetNeighbors{{nearest_to(1, 4, 20, 0)}}, protocol::ListStreams{},
           protocol::ListQueries{.stream = "riders"}, protocol::ListQueries{.stream = "none"},
           protocol::GetObjects{.object_ids = ids},
           protocol::GetObjects{.rectangle = Rectangle{0, 0, 30, 30}},
           protocol::GetSnapshot{.stream = "riders"}, protocol::GetNames{.object_ids = ids}}) {
    ++number;
    socket.send(request_frame(number, own, asked).bytes());
    const SocketBytes reply = socket.reply(number);
    const auto expected = peer.ask(encoded({number, peers, 0}, asked));
    ASSERT_NE(expected, nullptr);
    const auto bytes = expected->frame.bytes();
    EXPECT_TRUE(std::ranges::equal(reply, bytes)) << "request " << number;
  }
  socket.send(request_frame(99, peers, protocol::GetStats{}).bytes());
  EXPECT_EQ(error_of(socket.reply(99)), ErrorCode::unknown_session)
      << "the session of another connection";
}

TEST_F(Sockets, FollowBringsWhatASubscriberGets) {
  EXPECT_EQ(refusal_of(protocol::Follow{"riders"}), ErrorCode::unknown_stream);
  ASSERT_TRUE(client.put_stream({.name = "riders", .on = ReportOn::distance}));
  ASSERT_TRUE(client.put_stream({.name = "other"}));
  ASSERT_EQ(refusal_of(protocol::Follow{"riders"}), ErrorCode::none);
  zmq::socket_t subscriber(server.context(), zmq::socket_type::sub);
  subscriber.set(zmq::sockopt::subscribe, protocol::topic_of("riders"));
  subscriber.set(zmq::sockopt::rcvtimeo, 30'000);
  subscriber.connect(server.endpoints().results);
  ASSERT_TRUE(happens([&] { return server.stat("starling_subscriptions") == 1; }));
  ASSERT_TRUE(client.put_queries({"riders", {nearest_to(5, 3, 10, 0)}}));
  for (int step = 0; step < 5; ++step) {
    put_objects(20);
    if (step == 4) {
      ASSERT_TRUE(client.remove_stream("riders"));
    }
    tick();
    const SocketBytes message = socket.next_other();
    ASSERT_EQ(identifier_of(message), "STTM");
    std::uint32_t count = 0;
    std::memcpy(&count, message.data(), sizeof(count));
    std::size_t at = 8 + 8 * std::size_t{count};
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, message.data() + 8 + 8 * i, sizeof(bytes));
      at = (at + 7) / 8 * 8;
      ASSERT_LE(at + bytes, message.size());
      zmq::message_t expected;
      ASSERT_TRUE(subscriber.recv(expected));
      ASSERT_EQ(expected.size(), bytes);
      EXPECT_EQ(std::memcmp(expected.data(), message.data() + at, bytes), 0);
      EXPECT_EQ(expected.more(), i + 1 < count);
      at += bytes;
    }
    EXPECT_EQ(at, message.size());
  }
  EXPECT_EQ(refusal_of(protocol::EndFollow{"riders"}), ErrorCode::none);
}

TEST_F(Sockets, AnEndFollowBehindAFollowEndsIt) {
  ASSERT_TRUE(client.put_stream({.name = "riders"}));
  ASSERT_TRUE(client.put_queries({"riders", {nearest_to(5, 3, 10, 0)}}));
  // The server gets both requests with one read. Masks of zeros leave the payloads unchanged.
  std::string frames;
  for (const protocol::SocketBody& asked : {protocol::SocketBody(protocol::Follow{"riders"}),
                                            protocol::SocketBody(protocol::EndFollow{"riders"})}) {
    const protocol::Frame message = protocol::encode_socket_request(
        std::holds_alternative<protocol::Follow>(asked) ? 1 : 2, asked);
    ASSERT_LT(message.size(), 126u);
    frames += {'\x82', static_cast<char>(0x80 | message.size()), 0, 0, 0, 0};
    for (const std::byte byte : message.bytes()) frames += static_cast<char>(byte);
  }
  socket.send_raw(frames);
  EXPECT_EQ(error_of(socket.reply(1)), ErrorCode::none);
  EXPECT_EQ(error_of(socket.reply(2)), ErrorCode::none);
  put_objects(20);
  tick();
  EXPECT_EQ(refusal_of(protocol::EndView{}), ErrorCode::none);
  EXPECT_TRUE(socket.others().empty()) << "no tick is sent";
}

TEST_F(Sockets, AnEnteringObjectHasItsName) {
  const std::string name = "caf\xC3\xA9 no. 1";
  const std::uint64_t id = to_number(protocol::id_of_text(name));
  Fixes fixes;
  fixes.add(id, ++tau_us, 5, 5);
  fixes.add(2, tau_us, 6, 6);
  ASSERT_TRUE(client.update(fixes.batch()));
  const std::vector<std::uint64_t> ids{id};
  ASSERT_TRUE(client.put_names({ids, {name}}));
  HeldView held(socket.ask(everything));
  while (held.messages() == 0) held.apply(socket.next_other());
  ASSERT_EQ(held.objects().size(), 2u);
  for (const auto& [slot, object] : held.objects())
    EXPECT_EQ(object.name, object.id == id ? name : "");
}

TEST_F(Sockets, TheLatestWinsForAReaderThatSleeps) {
  constexpr std::uint64_t objects = 40'000;
  SocketClient sleeper(
      SocketClient::Options{.endpoint = server.endpoints().http, .receive_bytes = 16 * 1024});
  ASSERT_EQ(sleeper.connect(), 101u);
  put_objects(objects);
  HeldView held(sleeper.ask(everything));
  while (held.objects().size() < objects) held.apply(sleeper.next_other());
  const std::uint64_t before = held.messages();
  constexpr std::uint64_t ticks = 60;
  for (std::uint64_t i = 0; i < ticks; ++i) {
    put_objects(objects);
    tick();
  }
  const Tick last{ticks};
  while (held.head().tick < last) held.apply(sleeper.next_other());
  EXPECT_LT(held.messages() - before, ticks) << "messages were left out";
  EXPECT_EQ(held.objects().size(), objects);
}

TEST_F(Sockets, AHundredThousandMovingObjectsTakeLessThanAMegabyteATick) {
  constexpr std::uint64_t objects = 100'000;
  protocol::View view = everything;
  view.objects_max = objects;
  put_objects(objects);
  HeldView held(socket.ask(view));
  while (held.objects().size() < objects) held.apply(socket.next_other());
  for (std::uint64_t tick_number = 1; tick_number < 5; ++tick_number) {
    put_objects(objects);
    tick();
    while (held.head().tick < Tick{tick_number}) {
      const SocketBytes message = socket.next_other();
      EXPECT_LT(message.size(), 1'000'000u);
      EXPECT_GT(message.size(), 8 * objects) << "all have moved";
      held.apply(message);
    }
  }
}

TEST_F(Sockets, AViewStaysWithinItsBytes) {
  put_objects(20'000);
  protocol::View view = everything;
  view.bytes_per_s = 400'000;
  const auto since = std::chrono::steady_clock::now();
  HeldView held(socket.ask(view));
  std::size_t bytes = 0;
  while (held.objects().size() < 20'000) {
    const SocketBytes message = socket.next_other();
    ASSERT_FALSE(message.empty());
    EXPECT_LT(message.size(), 210'000u) << "half a second of bytes enters at once";
    bytes += message.size();
    held.apply(message);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  EXPECT_LT(static_cast<double>(bytes), 400'000 * (took.count() + 1.1));
  view.bytes_per_s = 10'000;
  held = HeldView(socket.ask(view));
  while (held.messages() == 0) held.apply(socket.next_other());
  EXPECT_TRUE(held.counts()) << "20,000 objects cannot be sent once a second";
}

TEST_F(Sockets, BadViewsAreRefusedWithASentence) {
  protocol::View view = everything;
  view.rectangle = {5, 0, 5, 10};
  EXPECT_EQ(refusal_of(view), ErrorCode::bad_value);
  view.rectangle = {0, 0, std::numeric_limits<double>::infinity(), 10};
  EXPECT_EQ(refusal_of(view), ErrorCode::bad_value);
  view.rectangle = {std::nan(""), 0, 1, 1};
  EXPECT_EQ(refusal_of(view), ErrorCode::bad_value);
  view = everything;
  view.ticks_per_s = 0;
  EXPECT_EQ(refusal_of(view), ErrorCode::bad_value);
  view = everything;
  view.objects_max = 200'001;
  EXPECT_EQ(refusal_of(view), ErrorCode::bad_value);
  view = everything;
  view.raster_columns = 1024;
  view.raster_rows = 1024;
  EXPECT_EQ(refusal_of(view), ErrorCode::bad_value);
  EXPECT_EQ(refusal_of(protocol::Follow{""}), ErrorCode::bad_text);
  EXPECT_EQ(refusal_of(protocol::EndView{}), ErrorCode::none);
}

TEST(SocketOptions, VectorsHaveNoView) {
  ServerOptions options = manual_options();
  options.processor.space = {.space = Space::vector, .dimension = 3};
  const RunningServer server(options);
  SocketClient socket(server.endpoints().http);
  ASSERT_EQ(socket.connect(), 101u);
  EXPECT_EQ(error_of(socket.reply(socket.ask(everything))), ErrorCode::bad_value);
}

TEST(SocketOptions, AsManySocketsAsAllowed) {
  ServerOptions options = manual_options();
  options.http_sockets.sockets_max = 2;
  RunningServer server(options);
  SocketClient one(server.endpoints().http);
  SocketClient two(server.endpoints().http);
  SocketClient three(server.endpoints().http);
  EXPECT_EQ(one.connect(), 101u);
  EXPECT_EQ(two.connect(), 101u);
  EXPECT_EQ(three.connect(), 503u);
  EXPECT_EQ(server.stat(views_used), 2);
  one.stream().next_layer().socket().close();
  EXPECT_TRUE(happens([&] { return server.stat(views_used) == 1; }));
  EXPECT_EQ(three.connect(), 101u);
}

TEST_F(Sockets, OtherRequestsToThePathAreToldToUpgrade) {
  HttpClient http(server.endpoints().http);
  const HttpReply reply = http.get("/v1/ws");
  EXPECT_EQ(reply.status, 426u);
  EXPECT_EQ(reply.fields.at("upgrade"), "websocket");
  EXPECT_THAT(reply.body, HasSubstr("WebSocket"));
}

TEST_F(Sockets, AStopEndsThemWithACode) {
  put_objects(10);
  HeldView held(socket.ask(everything));
  while (held.messages() == 0) held.apply(socket.next_other());
  const auto since = std::chrono::steady_clock::now();
  std::thread stopping([&] { server.stop(); });
  EXPECT_EQ(socket.read_to_end(), 1001u);
  stopping.join();
  EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(10));
}

TEST_F(Sockets, AViewEndsAndTheCopyOfPositionsWithIt) {
  put_objects(10);
  ASSERT_EQ(refusal_of(everything), ErrorCode::none);
  // The thread of the WebSockets counts views after it has answered.
  EXPECT_TRUE(happens([&] { return server.stat("starling_http_views") == 1; }));
  ASSERT_EQ(refusal_of(protocol::EndView{}), ErrorCode::none);
  EXPECT_TRUE(happens([&] { return server.stat("starling_http_views") == 0; }));
  tick();
  HeldView held(socket.ask(everything));
  while (held.messages() == 0) held.apply(socket.next_other());
  EXPECT_EQ(held.objects().size(), 10u);
}

}  // namespace
}  // namespace starling::stream
