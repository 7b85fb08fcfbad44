// SPDX-License-Identifier: Apache-2.0
// Tests random changes in each space. The events of a stream rebuild the lists that a subscriber of
// the results socket holds, and GET /v1/streams/NAME has the same lists. Meanwhile the reader
// disconnects, comes back early or late, and the server restarts.
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "tests/stream/events/event_world.hpp"
#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

/// Returns the keys of the lists that differ; empty if all are equal.
std::string difference(const protocol::ListStore& held, const protocol::ListStore& expected) {
  std::string text;
  const auto add = [&](const protocol::ListKey& key, const char* what) {
    text += std::string(what) + " list of query " + std::to_string(to_number(key.query)) +
            (key.has_subject ? ", subject " + std::to_string(to_number(key.subject)) : "") + "; ";
  };
  for (const auto& [key, list] : expected)
    if (const auto found = held.find(key); found == held.end())
      add(key, "missing");
    else if (found->second != list)
      add(key, "another");
  for (const auto& [key, list] : held)
    if (!expected.contains(key)) add(key, "needless");
  return text;
}

class RandomEvents : public testing::TestWithParam<Space> {
 protected:
  void start(ServerOptions options) {
    subscriber.reset();  // first, because its sockets are of the world's context
    world.reset();
    // No two servers have a tick with the same time, so the tests cannot confuse their ticks.
    world = std::make_unique<EventWorld>(options, GetParam(), ++servers * 1'000'000);
    world->tick();
    subscriber = std::make_unique<protocol::Subscriber>(
        world->server().context(), world->server().subscriber_options(EventWorld::stream));
  }

  ServerOptions restarted_options() const {
    ServerOptions options = EventWorld::options_of(GetParam());
    const Endpoints& endpoints = world->server().endpoints();
    options.commands_endpoint = endpoints.commands;
    options.results_endpoint = endpoints.results;
    options.http_port =
        static_cast<std::uint16_t>(std::stoi(endpoints.http.substr(endpoints.http.rfind(':') + 1)));
    return options;
  }

  /// Waits until the subscriber and the reader hold the newest lists, and compares them.
  void compare() {
    const std::int64_t now_us = world->now_us();
    ASSERT_TRUE(happens([&] {
      subscriber->poll(5);
      const auto& state = subscriber->state();
      return state.is_live() && state.held_at()->tau_us == now_us;
    }));
    ASSERT_TRUE(
        reader->read_until([&] { return reader->is_live() && reader->time_us() == now_us; }));
    ASSERT_EQ(difference(reader->lists(), subscriber->state().lists()), "");
    ASSERT_EQ(reader->sequence(), subscriber->state().held_at()->sequence);
    lists_compared += reader->lists().size();
  }

  void compare_with_wire() {
    protocol::ListStore expected;
    protocol::SnapshotHead head;
    ASSERT_TRUE(world->client().get_snapshot(
        {.stream = EventWorld::stream}, [&](const protocol::SnapshotPage& page) {
          head = page.head;
          for (std::size_t i = 0; i < page.lists.list_count(); ++i)
            expected.insert_or_assign(protocol::key_of(page.lists, i),
                                      protocol::list_of(page.lists, i));
        }));
    const HttpReply reply = HttpClient(world->server().endpoints().http).get("/v1/streams/all");
    ASSERT_EQ(reply.status, 200u);
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(reply.body);
    protocol::ListStore lists;
    read_lists(root["lists"], GetParam(), lists);
    ASSERT_EQ(difference(lists, expected), "");
    ASSERT_EQ(root["sequence"].get_uint64().value(), head.sequence);
    ASSERT_EQ(root["tick"].get_uint64().value(), to_number(head.tick));
    ASSERT_EQ(root["time_us"].get_int64().value(), head.tau_us);
    ASSERT_EQ(root["epoch"].get_string().value(), std::to_string(head.epoch));
  }

  std::unique_ptr<EventWorld> world;
  std::unique_ptr<protocol::Subscriber> subscriber;
  std::unique_ptr<EventClient> reader;
  std::size_t lists_compared = 0;
  std::int64_t servers = 0;
};

TEST_P(RandomEvents, RebuildTheListsOfASubscriber) {
  EventClient::Counts counts;
  for (const std::uint64_t seed : test::seeds(2)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    start(EventWorld::options_of(GetParam()));
    reader = std::make_unique<EventClient>(
        EventClient::Options{.endpoint = world->server().endpoints().http,
                             .stream = EventWorld::stream,
                             .space = GetParam()});
    ASSERT_EQ(reader->connect(), 200u);
    for (int step = 0; step < 60; ++step) {
      if (random.chance(0.3)) reader->disconnect();
      if (random.chance(0.05)) start(restarted_options());
      for (std::uint64_t ticks = random.below(12); ticks > 0; --ticks) world->move_and_tick(random);
      ASSERT_EQ(reader->connect(), 200u);
      world->tick();
      ASSERT_NO_FATAL_FAILURE(compare());
      ASSERT_NO_FATAL_FAILURE(compare_with_wire());
      if (random.chance(0.8)) continue;
      // A snapshot lacks queries that were removed after the last tick. The next step's lists are
      // whole again.
      world->move(random);
      ASSERT_NO_FATAL_FAILURE(compare_with_wire());
    }
    counts = reader->counts();
    EXPECT_GT(counts.gaps, counts.restarts);
    EXPECT_GT(counts.missed, 0u);
    EXPECT_GT(counts.restarts, 0u);
    EXPECT_GT(counts.ticks, 100u);
    EXPECT_LT(counts.snapshots, 60u) << "some resumes need no snapshot";
  }
  EXPECT_GT(lists_compared, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Spaces, RandomEvents,
                         testing::Values(Space::planar2, Space::planar3, Space::wgs84,
                                         Space::vector),
                         [](const auto& space) { return std::string(to_string(space.param)); });

}  // namespace
}  // namespace starling::stream
