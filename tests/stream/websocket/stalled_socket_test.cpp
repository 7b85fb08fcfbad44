// SPDX-License-Identifier: Apache-2.0
// Tests a client of a WebSocket that stops reading, like a browser's page that is suspended. It
// costs the server at most 16 MiB, and no other client loses a tick.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/support/socket_client.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t object_count = protocol::View::most_objects;
constexpr std::uint64_t query_count = 4000;
constexpr std::uint32_t list_size = 16;
constexpr std::size_t stall_bytes_max = std::size_t{16} << 20;
/// Less than the silence after which the server closes a socket: SocketLimits::idle_us.
constexpr std::chrono::seconds stall_max{20};
constexpr const char* socket_lost_ticks = "starling_http_socket_lost_ticks_total";
const protocol::View everything_moves{.rectangle = {-10, -10, 1000, 1000},
                                      .ticks_per_s = 1000,
                                      .bytes_per_s = 1'000'000'000,
                                      .objects_max = protocol::View::most_objects};

/// Returns how many bytes the system still keeps of those that the server has sent on this
/// connection.
std::size_t unsent_bytes(SocketClient& socket) {
  const auto& connection = boost::beast::get_lowest_layer(socket.stream()).socket();
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    unsigned port = 0;
    unsigned peer_port = 0;
    std::size_t unsent = 0;
    // The local and the remote address, the state, and the bytes that wait to be sent.
    if (std::sscanf(line.c_str(), "%*d: %*8x:%x %*8x:%x %*x %zx", &port, &peer_port, &unsent) ==
            3 &&
        port == connection.remote_endpoint().port() &&
        peer_port == connection.local_endpoint().port())
      return unsent;
  }
  ADD_FAILURE() << "the connection is not in /proc/net/tcp";
  return 0;
}

class StalledSocket : public ProgramTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server.says("ready"));
    producer.emplace(client());
    for (std::uint64_t id = 0; id < object_count; ++id) fixes.add(id, 0, 0, 0);
    ASSERT_TRUE(producer->put_stream({.name = "riders", .on = ReportOn::distance}));
    protocol::PutQueries put{.stream = "riders"};
    for (std::uint64_t id = 0; id < query_count; ++id) put.queries.push_back(question(id));
    ASSERT_TRUE(producer->put_queries(put));
    protocol::SubscriberOptions options;
    options.results = endpoint("results");
    options.client.commands = endpoint("commands");
    options.subscription.stream = "riders";
    subscriber.emplace(context, options);
  }

  static protocol::QuerySpec question(std::uint64_t id) {
    protocol::QuerySpec spec;
    spec.id = QueryId{id};
    spec.k = list_size;
    spec.position = {static_cast<double>(id % 100) * 10, static_cast<double>(id / 100) * 20, 0};
    return spec;
  }

  /// Moves all objects, and lets the subscriber read the tick.
  void tick() {
    constexpr std::uint64_t rows_at_once = 25'000;
    ++tau_us;
    for (std::uint64_t id = 0; id < object_count; ++id) {
      fixes.times_us[id] = tau_us;
      fixes.coordinates[2 * id] =
          static_cast<double>((id + static_cast<std::uint64_t>(tau_us)) % 1000);
      fixes.coordinates[2 * id + 1] = static_cast<double>(id / 200);
    }
    const protocol::UpdateBatch all = fixes.batch();
    for (std::uint64_t begin = 0; begin < object_count; begin += rows_at_once)
      ASSERT_TRUE(
          producer->update({.ids = all.ids.subspan(begin, rows_at_once),
                            .times_us = all.times_us.subspan(begin, rows_at_once),
                            .components = 2,
                            .coordinates = all.coordinates.subspan(2 * begin, 2 * rows_at_once)}));
    const auto done = producer->advance_tick(tau_us);
    ASSERT_TRUE(done);
    last_tick = done->tick;
    ASSERT_TRUE(happens([&] {
      subscriber->poll(50);
      return subscriber->state().is_live() && subscriber->state().held_at()->tau_us == tau_us;
    }));
  }

  /// Reads the messages of a view up to the message of the last tick.
  void read_view(SocketClient& socket) const {
    for (Tick tick{}; tick < last_tick;) {
      const SocketBytes message = socket.next_other();
      ASSERT_FALSE(message.empty());
      tick = protocol::decode_view(protocol::AlignedBytes(message)).head.tick;
    }
  }

  /// Reads until the client holds all objects.
  static void read_all_objects(SocketClient& socket) {
    for (std::size_t held = 0; held < object_count;) {
      const SocketBytes message = socket.next_other();
      ASSERT_FALSE(message.empty());
      const protocol::AlignedBytes aligned(message);
      const auto view = protocol::decode_view(aligned);
      ASSERT_TRUE(std::holds_alternative<protocol::ViewChanges>(view.body));
      held += std::get<protocol::ViewChanges>(view.body).entered.size();
    }
  }

  /// Returns the number of the socket's session.
  static std::uint64_t begin_session(SocketClient& socket) {
    socket.send(protocol::encode_request({1, 0, 0}, protocol::Hello{.client = "a page"}).bytes());
    const SocketBytes hello = socket.reply(1);
    const protocol::AlignedBytes aligned(hello);
    return std::get<protocol::HelloReply>(protocol::decode_reply(aligned).body).session;
  }

  /// Sends requests, numbered from 2, whose replies have 1.2 MB each. Returns the last number.
  static std::uint64_t ask_much(SocketClient& socket, std::uint64_t session) {
    constexpr std::uint64_t last = 9;
    protocol::GetNeighbors request;
    for (std::uint64_t id = 0; id < 1000; ++id) {
      request.questions.push_back(question(id));
      request.questions.back().k = 100;
    }
    for (std::uint64_t number = 2; number <= last; ++number)
      socket.send(protocol::encode_request({number, session, 0}, request).bytes());
    return last;
  }

  double stat(std::string_view name) {
    const auto values = producer->get_stats().value();
    const auto found = std::ranges::find(values, name, [](const auto& each) { return each.first; });
    return found == values.end() ? -1 : found->second;
  }

  Program server{serve({"--tick", "manual"})};
  std::optional<protocol::Client> producer;
  std::optional<protocol::Subscriber> subscriber;
  Fixes fixes;
  std::int64_t tau_us = 1'700'000'000'000'000;
  Tick last_tick{};
};

TEST_F(StalledSocket, CostsAtMost16MiBAndNoSubscriberATick) {
  // Another client does the same first, so that the memory for one client does not count.
  SocketClient reader(endpoint("http"));
  ASSERT_EQ(reader.connect(), 101u);
  tick();
  ASSERT_FALSE(reader.reply(ask_much(reader, begin_session(reader))).empty());
  reader.ask(everything_moves);
  read_all_objects(reader);
  std::size_t bytes_before = 0;
  for (int i = 0; i < 60; ++i) {
    ASSERT_NO_FATAL_FAILURE(tick());
    ASSERT_NO_FATAL_FAILURE(read_view(reader));
    bytes_before = std::max(bytes_before, server.resident_bytes());
  }

  SocketClient stalled(
      SocketClient::Options{.endpoint = endpoint("http"), .receive_bytes = 16 * 1024});
  ASSERT_EQ(stalled.connect(), 101u);
  const std::uint64_t session = begin_session(stalled);
  ASSERT_FALSE(stalled.reply(stalled.ask(protocol::Follow{"riders"})).empty());
  ASSERT_FALSE(stalled.reply(stalled.ask(everything_moves)).empty());
  read_all_objects(stalled);
  // From here on `stalled` reads nothing, and asks for more.
  ask_much(stalled, session);
  std::size_t most_bytes = 0;
  std::size_t most_unsent = 0;
  int ticks = 0;
  const auto end = std::chrono::steady_clock::now() + stall_max;
  for (; ticks < 120 && std::chrono::steady_clock::now() < end; ++ticks) {
    ASSERT_NO_FATAL_FAILURE(tick());
    ASSERT_NO_FATAL_FAILURE(read_view(reader));
    const std::size_t unsent = unsent_bytes(stalled);
    most_unsent = std::max(most_unsent, unsent);
    most_bytes = std::max(most_bytes, server.resident_bytes() + unsent);
  }
  ASSERT_GT(ticks, 40) << "this machine is too slow for the test";
  EXPECT_LE(most_bytes, bytes_before + stall_bytes_max + sanitizer_bytes);
  EXPECT_GT(most_unsent, 0u) << "the client has stalled";
  EXPECT_GT(stat(socket_lost_ticks), ticks - 20) << "of the stream that it follows";
  EXPECT_EQ(subscriber->state().counters().ticks_lost, 0u);
  EXPECT_EQ(subscriber->state().counters().snapshots, 1u);
  RecordProperty("growth_kib",
                 static_cast<int>((most_bytes - std::min(most_bytes, bytes_before)) >> 10));
  RecordProperty("unsent_kib", static_cast<int>(most_unsent >> 10));
}

}  // namespace
}  // namespace starling::stream
