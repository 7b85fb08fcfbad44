// SPDX-License-Identifier: Apache-2.0
// Tests the events of a stream: new, returning and slow readers, removed streams, limits, and the
// end of the server.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/events/event_world.hpp"
#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/resident_bytes.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Events : public testing::Test {
 protected:
  explicit Events(const EventLimits& limits = {})
      : server([&] {
          ServerOptions options = manual_options();
          options.http_events = limits;
          options.http_connections_max = 8;
          return options;
        }()) {
    EXPECT_TRUE(client.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
    EXPECT_TRUE(client.put_queries({"riders", {nearest_to(1, 2, 0, 0)}}));
  }

  /// Moves object 7 and advances a tick.
  void tick() {
    ++time_us;
    Fixes fixes;
    fixes.add(7, time_us, static_cast<double>(time_us), 0);
    EXPECT_TRUE(client.update(fixes.batch()));
    EXPECT_TRUE(client.advance_tick(time_us));
  }

  EventClient::Options options_of(std::string stream, HttpClient::Fields fields = {}) const {
    return {.endpoint = server.endpoints().http,
            .stream = std::move(stream),
            .fields = std::move(fields)};
  }
  EventClient reader(HttpClient::Fields fields = {}, std::string stream = "riders") const {
    return EventClient(options_of(std::move(stream), std::move(fields)));
  }
  double readers() { return server.stat("starling_limit_used{name=\"http-events-max\"}"); }
  double distance_of(const EventClient& of) {
    return of.lists().at({.query = QueryId{1}}).neighbors.at(0).distance_m;
  }

  RunningServer server;
  protocol::Client client = server.client();
  HttpClient http{server.endpoints().http};
  std::int64_t time_us = 0;
};

TEST_F(Events, ANewReaderGetsASnapshotAndThenEachTick) {
  tick();
  EventClient late = reader();
  ASSERT_EQ(late.connect(), 200u);
  EXPECT_THAT(late.answer(), HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(late.answer(), HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(late.answer(), HasSubstr("X-Accel-Buffering: no\r\n"));
  ASSERT_TRUE(late.read_until([&] { return late.is_live(); }));
  EXPECT_EQ(late.counts().ticks, 0u);
  EXPECT_EQ(distance_of(late), 1.0);
  for (int i = 0; i < 3; ++i) tick();
  ASSERT_TRUE(late.read_until([&] { return late.counts().ticks == 3; }));
  EXPECT_EQ(distance_of(late), 4.0);
  EXPECT_EQ(late.counts().snapshots, 1u);
  EXPECT_EQ(late.sequence(), 4u);
}

TEST_F(Events, AStreamWithoutATickHasAnEmptySnapshot) {
  EventClient early = reader();
  ASSERT_EQ(early.connect(), 200u);
  ASSERT_TRUE(early.read_until([&] { return early.is_live(); }));
  EXPECT_TRUE(early.lists().empty());
  tick();
  ASSERT_TRUE(early.read_until([&] { return early.counts().ticks == 1; }));
  EXPECT_EQ(distance_of(early), 1.0);
}

TEST_F(Events, AReaderThatComesBackGoesOnWithoutASnapshot) {
  tick();
  EventClient returning = reader();
  ASSERT_EQ(returning.connect(), 200u);
  ASSERT_TRUE(returning.read_until([&] { return returning.is_live(); }));
  returning.disconnect();
  ASSERT_TRUE(happens([&] { return readers() == 0; }));
  ASSERT_EQ(returning.connect(), 200u);  // the reader has missed nothing
  returning.disconnect();
  for (int i = 0; i < 40; ++i) tick();
  ASSERT_EQ(returning.connect(), 200u);
  ASSERT_TRUE(returning.read_until([&] { return returning.counts().ticks == 40; }));
  EXPECT_EQ(returning.counts().snapshots, 1u);
  EXPECT_EQ(returning.counts().gaps, 0u);
}

TEST_F(Events, IdsThatNoEventHasAreNoPlaceToGoOn) {
  tick();
  for (const auto& [id, gaps] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"x", 0},
           {"1-", 0},
           {"-1", 0},
           {"1-2-3", 0},
           {"18446744073709551616-1", 0},
           {"1-1", 1},
           {std::to_string(client.epoch()) + "-999", 1}}) {
    EventClient odd = reader();
    odd.set_last_id(id);
    ASSERT_EQ(odd.connect(), 200u) << id;
    ASSERT_TRUE(odd.read_until([&] { return odd.is_live(); })) << id;
    EXPECT_EQ(odd.counts().gaps, gaps) << id;
    EXPECT_EQ(odd.counts().restarts, gaps) << id;
  }
}

TEST_F(Events, NamesAreCarried) {
  const ObjectId taxi = protocol::id_of_text("taxi");
  const std::vector<std::uint64_t> ids{to_number(taxi)};
  ASSERT_TRUE(client.put_names({.ids = ids, .texts = {"taxi"}}));
  Fixes fixes;
  fixes.add(to_number(taxi), 1, 3, 4);
  ASSERT_TRUE(client.update(fixes.batch()));
  EventClient named = reader();
  ASSERT_EQ(named.connect(), 200u);
  ASSERT_TRUE(named.read_until([&] { return named.is_live(); }));
  tick();
  ASSERT_TRUE(named.read_until([&] { return named.counts().ticks == 1; }));
  EXPECT_THAT(named.last_data(), HasSubstr("\"distance_m\":5,\"name\":\"taxi\"}"));
  EXPECT_THAT(http.get("/v1/streams/riders").body, HasSubstr("\"name\":\"taxi\""));
}

TEST_F(Events, ARemovedStreamEndsItsEvents) {
  tick();
  EventClient first = reader();
  EventClient second = reader();
  ASSERT_EQ(first.connect(), 200u);
  ASSERT_EQ(second.connect(), 200u);
  ASSERT_TRUE(first.read_until([&] { return first.is_live(); }));
  ASSERT_TRUE(second.read_until([&] { return second.is_live(); }));
  ASSERT_TRUE(client.remove_stream("riders"));
  tick();
  for (EventClient* each : {&first, &second}) {
    EXPECT_TRUE(each->read_to_end());
    EXPECT_EQ(each->counts().removals, 1u);
    EXPECT_TRUE(each->lists().empty());
  }
  EXPECT_EQ(first.connect(), 404u);
  EXPECT_TRUE(happens([&] { return readers() == 0; }));
  ASSERT_TRUE(client.put_stream({.name = "riders", .on = ReportOn::distance, .with = {}}));
  ASSERT_TRUE(client.put_queries({"riders", {nearest_to(1, 2, 0, 0)}}));
  ASSERT_EQ(first.connect(), 200u);
  tick();
  ASSERT_TRUE(first.read_until([&] { return first.is_live() && !first.lists().empty(); }));
}

TEST_F(Events, WhoMayNotReadIsRefused) {
  EXPECT_EQ(reader({}, "cars").connect(), 404u);
  EXPECT_EQ(reader({{"Host", "evil.example"}}).connect(), 421u);
  EventClient foreign = reader({{"Origin", "http://evil.example"}});
  EXPECT_EQ(foreign.connect(), 403u);
  EventClient own =
      reader({{"Host", server.endpoints().http}, {"Origin", "http://" + server.endpoints().http}});
  EXPECT_EQ(own.connect(), 200u);
  EXPECT_EQ(http.get("/v1/streams/riders/events?from=1").status, 400u);
  EXPECT_EQ(http.ask("POST", "/v1/streams/riders/events", {}, {}).status, 405u);
}

TEST_F(Events, AHeadRequestHasTheFieldsAlone) {
  const HttpReply reply = http.ask("HEAD", "/v1/streams/riders/events", {}, {});
  EXPECT_EQ(reply.status, 200u);
  EXPECT_EQ(reply.fields.at("content-type"), "text/event-stream");
  EXPECT_EQ(reply.body, "");
  EXPECT_TRUE(happens([&] { return readers() == 0; }));
}

TEST_F(Events, AServerThatStopsEndsThem) {
  tick();
  std::vector<std::unique_ptr<EventClient>> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(std::make_unique<EventClient>(options_of("riders")));
    ASSERT_EQ(open.back()->connect(), 200u);
  }
  server.stop();
  for (const auto& each : open) EXPECT_TRUE(each->read_to_end());
}

class FewEvents : public Events {
 protected:
  FewEvents() : Events({.readers_max = 20, .heartbeat_us = 20'000, .linger_us = 30'000'000}) {}
};

TEST_F(FewEvents, ReadersBeyondTheLimitAreRefusedAndCostNothing) {
  tick();
  std::vector<std::unique_ptr<EventClient>> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(std::make_unique<EventClient>(options_of("riders")));
    ASSERT_EQ(open.back()->connect(), 200u);
  }
  EXPECT_EQ(readers(), 20);
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 10'000; ++i) {
    EventClient refused = reader();
    ASSERT_EQ(refused.connect(), 503u) << i;
    if (i == 0) {
      EXPECT_THAT(refused.answer(), HasSubstr("\"limit\":\"http-events-max\",\"limit_value\":20"));
    }
  }
  EXPECT_LT(resident_bytes(), before + (std::size_t{16} << 20) + sanitizer_bytes);
  EXPECT_EQ(http.get("/healthz").status, 200u) << "readers are no connections of requests";
  tick();
  for (const auto& each : open)
    EXPECT_TRUE(each->read_until([&] { return each->is_live() && each->time_us() == time_us; }));
  open.pop_back();
  EXPECT_TRUE(happens([&] { return reader().connect() == 200u; }));
}

TEST_F(FewEvents, AnIdleReaderGetsComments) {
  EventClient idle = reader();
  ASSERT_EQ(idle.connect(), 200u);
  EXPECT_TRUE(idle.read_until([&] { return idle.counts().comments >= 3; }));
  EXPECT_EQ(idle.counts().events, 1u);  // the snapshot
}

TEST_F(FewEvents, MoreStreamsThanReadersAreFollowedOneAfterAnother) {
  for (int i = 0; i < 50; ++i) {
    const std::string name = "s" + std::to_string(i);
    ASSERT_TRUE(client.put_stream({.name = name, .on = ReportOn::distance, .with = {}}));
    EventClient each = reader({}, name);
    ASSERT_TRUE(happens([&] { return each.connect() == 200u; })) << i;
    ASSERT_TRUE(each.read_until([&] { return each.is_live(); }));
    tick();
    ASSERT_TRUE(each.read_until([&] { return each.counts().ticks == 1; }));
  }
}

}  // namespace
}  // namespace starling::stream
