// SPDX-License-Identifier: Apache-2.0
// Tests readers of events that read slowly or not at all. The bytes that wait for them are bounded.
// They get a gap and new lists; those that read nothing are disconnected. Other readers are not
// affected.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t crowd = 400;
constexpr std::size_t stream_bytes_max = std::size_t{1} << 20;

/// A stream whose ticks have about 200 kB of JSON.
class SlowEvents : public testing::Test {
 protected:
  explicit SlowEvents(const EventLimits& limits = {.bytes_max = stream_bytes_max})
      : server([&] {
          ServerOptions options = manual_options();
          options.http_events = limits;
          return options;
        }()) {
    EXPECT_TRUE(client.put_stream({.name = "crowd", .on = ReportOn::distance, .with = {}}));
    protocol::QuerySpec graph = nearest_to(1, 10, 0, 0);
    graph.anchor = AnchorKind::every_object;
    EXPECT_TRUE(client.put_queries({"crowd", {graph}}));
    tick();
  }

  void tick() {
    ++time_us;
    Fixes fixes;
    for (std::uint64_t id = 0; id < crowd; ++id)
      fixes.add(id, time_us, random.unit() * 1000, random.unit() * 1000);
    EXPECT_TRUE(client.update(fixes.batch()));
    EXPECT_TRUE(client.advance_tick(time_us));
  }

  EventClient slow_reader() {
    return EventClient(
        {.endpoint = server.endpoints().http, .stream = "crowd", .receive_bytes = 4096});
  }
  EventClient fast_reader() {
    return EventClient({.endpoint = server.endpoints().http, .stream = "crowd"});
  }
  protocol::ListStore lists_of_now() {
    protocol::ListStore lists;
    EXPECT_TRUE(client.get_snapshot({.stream = "crowd"}, [&](const protocol::SnapshotPage& page) {
      for (std::size_t i = 0; i < page.lists.list_count(); ++i)
        lists.insert_or_assign(protocol::key_of(page.lists, i), protocol::list_of(page.lists, i));
    }));
    return lists;
  }

  test::Random random{1};
  RunningServer server;
  protocol::Client client = server.client();
  std::int64_t time_us = 0;
};

TEST_F(SlowEvents, ASlowReaderGetsAGapAndTheListsOfNow) {
  EventClient fast = fast_reader();
  EventClient slow = slow_reader();
  ASSERT_EQ(fast.connect(), 200u);
  ASSERT_EQ(slow.connect(), 200u);
  ASSERT_TRUE(slow.read_until([&] { return slow.is_live(); }));
  const std::size_t before = resident_bytes();
  constexpr int ticks = 60;  // about 12 MB
  for (int i = 0; i < ticks; ++i) {
    tick();
    ASSERT_TRUE(fast.read_until([&] { return fast.is_live() && fast.time_us() == time_us; }));
  }
  EXPECT_LT(resident_bytes(), before + 12 * stream_bytes_max + sanitizer_bytes);
  EXPECT_EQ(fast.counts().gaps, 0u);
  ASSERT_TRUE(slow.read_until([&] { return slow.is_live() && slow.time_us() == time_us; }));
  EXPECT_GE(slow.counts().gaps, 1u);
  EXPECT_GT(slow.counts().missed, 0u);
  EXPECT_EQ(slow.counts().restarts, 0u);
  EXPECT_EQ(slow.lists(), lists_of_now());
  EXPECT_EQ(slow.lists(), fast.lists());
  EXPECT_EQ(server.stat("starling_http_event_gaps_total"), static_cast<double>(slow.counts().gaps));
  EXPECT_EQ(server.stat("starling_http_events_dropped_total"),
            static_cast<double>(slow.counts().missed));
  EXPECT_EQ(server.stat("starling_http_events_total"),
            static_cast<double>(slow.counts().events + fast.counts().events));
}

TEST_F(SlowEvents, ASnapshotComesInParts) {
  EventClient fast = fast_reader();
  ASSERT_EQ(fast.connect(), 200u);
  ASSERT_TRUE(fast.read_until([&] { return fast.is_live(); }));
  EXPECT_GT(fast.counts().snapshot_parts, 2u);
  EXPECT_EQ(fast.lists(), lists_of_now());
}

class StalledEvents : public SlowEvents {
 protected:
  StalledEvents() : SlowEvents({.bytes_max = stream_bytes_max, .stall_us = 50'000}) {}
};

TEST_F(StalledEvents, AReaderThatReadsNothingIsDisconnected) {
  EventClient stalled = slow_reader();
  ASSERT_EQ(stalled.connect(), 200u);
  EXPECT_TRUE(happens([&] {
    tick();
    return server.stat("starling_http_event_readers_stalled_total") == 1;
  }));
  EXPECT_TRUE(
      happens([&] { return server.stat("starling_limit_used{name=\"http-events-max\"}") == 0; }));
}

class NarrowEvents : public SlowEvents {
 protected:
  NarrowEvents() : SlowEvents({.bytes_max = 100'000}) {}
};

TEST_F(NarrowEvents, ListsBeyondTheLimitAreRefused) {
  ASSERT_TRUE(client.put_queries({"crowd", {nearest_to(2, 3, 0, 0), nearest_to(3, 3, 9, 9)}}));
  tick();
  HttpClient http(server.endpoints().http);
  const HttpReply reply = http.get("/v1/streams/crowd");
  EXPECT_EQ(reply.status, 413u);
  EXPECT_THAT(reply.body, HasSubstr("http-stream-bytes-max (100000)"));
  const HttpReply some = http.get("/v1/streams/crowd?queries=2,3");
  EXPECT_EQ(some.status, 200u);
  EXPECT_THAT(some.body, HasSubstr("\"query\":\"2\""));
  EXPECT_THAT(some.body, HasSubstr("\"query\":\"3\""));
  EventClient fast = fast_reader();
  ASSERT_EQ(fast.connect(), 200u);
  EXPECT_TRUE(fast.read_to_end());
  EXPECT_EQ(fast.counts().refusals, 1u);
  EXPECT_THAT(fast.last_data(), HasSubstr("\"status\":413"));
}

TEST_F(NarrowEvents, QueriesAreChosenByTheirIds) {
  HttpClient http(server.endpoints().http);
  for (const char* wrong :
       {"queries=", "queries=1,", "queries=,1", "query=1", "queries=1&queries=2"})
    EXPECT_EQ(http.get(std::string("/v1/streams/crowd?") + wrong).status, 400u) << wrong;
  EXPECT_THAT(http.get("/v1/streams/crowd?queries=77,taxi").body, HasSubstr("\"lists\":[]}"));
  EXPECT_EQ(http.get("/v1/streams/cars").status, 404u);
}

}  // namespace
}  // namespace starling::stream
