// SPDX-License-Identifier: Apache-2.0
// Tests that all hosts give the same lists: the embedded host with one thread, the embedded host
// with two threads, and a server.
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <zmq.hpp>

#include "starling/cpu/backend.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/host/embedded_host.hpp"
#include "starling/sim/host/server_host.hpp"
#include "starling/sim/replay/replay.hpp"
#include "starling/sim/replay/result_csv.hpp"
#include "tests/sim/data/traces/sorted_rows.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::sim {
namespace {

using testing::HasSubstr;

constexpr std::int64_t tick_us = 1'000'000;
constexpr std::int64_t object_ttl_us = 5 * tick_us;

/// Returns rows of objects on random walks in a small area. Objects report at random times, and
/// stop reporting one after another. Every third object has tags.
std::vector<TraceRow> random_walks(unsigned seed, Space space) {
  std::mt19937_64 random(seed);
  const double step = space == Space::wgs84 ? 1e-4 : 10;
  std::vector<TraceRow> rows;
  std::vector<Position> positions(60);
  for (Position& position : positions)
    for (std::size_t axis = 0; axis < 2; ++axis)
      position[axis] = step * static_cast<double>(random() % 20);
  for (std::int64_t time_us = 0; time_us < 40 * tick_us; time_us += tick_us / 4)
    for (std::size_t object = 0; object < positions.size(); ++object) {
      if (random() % 4 != 0 || time_us > static_cast<std::int64_t>(object) * tick_us) continue;
      for (std::size_t axis = 0; axis < 2; ++axis)
        positions[object][axis] += step * (static_cast<double>(random() % 3) - 1);
      rows.push_back({ObjectId{object}, time_us - static_cast<std::int64_t>(random() % tick_us),
                      positions[object], static_cast<std::uint32_t>(random() % 4),
                      object % 3 == 0});
    }
  return rows;
}

std::vector<protocol::QuerySpec> every_kind_of_query() {
  std::vector<protocol::QuerySpec> queries(3);
  queries[0].id = QueryId{10};
  queries[0].k = 5;
  queries[1].id = QueryId{9};
  queries[1].k = 3;
  queries[1].anchor = AnchorKind::follow;
  queries[1].object = ObjectId{20};
  queries[1].age_max_us = 2 * tick_us;
  queries[2].id = QueryId{8};
  queries[2].k = 4;
  queries[2].anchor = AnchorKind::every_object;
  return queries;
}

struct Outcome {
  std::string csv;
  ReplayResult result;
};

Outcome run(LockStepHost& host, std::span<const TraceRow> rows, bool changes_only,
            protocol::ListStore lists = {}) {
  const TemporaryDirectory directory;
  NameTable names;
  ResultCsv csv(directory.path("results.csv"), names, names);
  const auto on_tick = [&](const FinishedTick& tick, const ReplayProgress&) {
    csv.write_tick(tick.tick, tick.tau_us, lists);
    if (changes_only) lists.clear();
  };
  Outcome outcome;
  outcome.result = replay(*stream_of(rows, RowOrder::file), {.tick_us = tick_us, .wait = {}}, host,
                          &lists, on_tick);
  csv.close();
  outcome.csv = TemporaryDirectory::read(directory.path("results.csv"));
  return outcome;
}

ProcessorOptions processor_options(Space space) {
  ProcessorOptions options;
  options.space.space = space;
  options.objects.object_ttl_us = object_ttl_us;
  return options;
}

Outcome run_embedded(std::span<const TraceRow> rows, Space space, const ReplaySetup& setup,
                     bool changes_only, unsigned threads) {
  EmbeddedHost host(processor_options(space),
                    cpu::make_engine({.space = {.space = space}, .threads = threads}),
                    "the engine of a test");
  start_replay(host, setup);
  return run(host, rows, changes_only);
}

protocol::ManualServerOptions endpoints_of(const stream::RunningServer& server) {
  return {.commands = server.endpoints().commands, .results = server.endpoints().results};
}

Outcome run_server(std::span<const TraceRow> rows, Space space, const ReplaySetup& setup,
                   bool changes_only) {
  stream::ServerOptions options = stream::manual_options();
  options.processor = processor_options(space);
  const stream::RunningServer server(options);
  ServerHost host(server.context(), endpoints_of(server), "replay");
  EXPECT_EQ(host.space().space, space);
  start_replay(host, setup);
  return run(host, rows, changes_only);
}

/// A proxy between a server's results socket and a subscriber. It passes on all subscriptions, but
/// drops every seventh tick.
class LossyWay {
 public:
  LossyWay(zmq::context_t& context, const std::string& results)
      : upstream_(context, zmq::socket_type::xsub),
        downstream_(context, zmq::socket_type::xpub),
        stop_(context, zmq::socket_type::pair),
        stopper_(context, zmq::socket_type::pair) {
    for (zmq::socket_t* socket : {&upstream_, &downstream_, &stop_, &stopper_})
      socket->set(zmq::sockopt::linger, 0);
    upstream_.connect(results);
    downstream_.bind("tcp://127.0.0.1:*");
    stop_.bind("inproc://stop-lossy-way");
    stopper_.connect("inproc://stop-lossy-way");
    endpoint = downstream_.get(zmq::sockopt::last_endpoint);
    thread_ = std::thread([this] { run(); });
  }
  ~LossyWay() {
    stopper_.send(zmq::message_t(), zmq::send_flags::none);
    thread_.join();
  }

  std::string endpoint;
  std::atomic<int> lost = 0;

 private:
  void run() {
    zmq::pollitem_t items[] = {{upstream_.handle(), 0, ZMQ_POLLIN, 0},
                               {downstream_.handle(), 0, ZMQ_POLLIN, 0},
                               {stop_.handle(), 0, ZMQ_POLLIN, 0}};
    int count = 0;
    while (items[2].revents == 0) {
      zmq::poll(items, 3, std::chrono::milliseconds(-1));
      if (items[0].revents != 0) pass(upstream_, downstream_, ++count % 7 == 0);
      if (items[1].revents != 0) pass(downstream_, upstream_, false);
    }
  }
  void pass(zmq::socket_t& from, zmq::socket_t& to, bool is_lost) {
    lost += is_lost ? 1 : 0;
    zmq::message_t part;
    do {
      static_cast<void>(from.recv(part));
      const bool more = part.more();
      if (!is_lost) to.send(part, more ? zmq::send_flags::sndmore : zmq::send_flags::none);
      if (!more) return;
    } while (true);
  }

  zmq::socket_t upstream_;
  zmq::socket_t downstream_;
  zmq::socket_t stop_;
  zmq::socket_t stopper_;
  std::thread thread_;
};

class ReplayTargets : public testing::TestWithParam<std::tuple<Space, bool>> {};

TEST_P(ReplayTargets, GiveTheSameBytes) {
  const auto [space, changes_only] = GetParam();
  constexpr unsigned seed = 7;
  SCOPED_TRACE(seed);
  std::vector<TraceRow> rows = random_walks(seed, space);
  rows = sorted(rows);
  const ReplaySetup setup{"replay", changes_only ? ReportOn::order : ReportOn::distance,
                          every_kind_of_query()};
  const Outcome one = run_embedded(rows, space, setup, changes_only, 1);
  const Outcome two = run_embedded(rows, space, setup, changes_only, 2);
  const Outcome served = run_server(rows, space, setup, changes_only);
  EXPECT_GT(std::ranges::count(one.csv, '\n'), 1000);
  EXPECT_EQ(one.csv, two.csv);
  EXPECT_EQ(one.csv, served.csv);
  EXPECT_EQ(one.result.rows, rows.size());
  EXPECT_EQ(one.result.late, 0u);
  EXPECT_EQ(one.result.rejected, 0u);
}

TEST(EmbeddedTarget, AQueryThatOutgrowsALimitEndsTheReplayWithAnError) {
  ProcessorOptions options = processor_options(Space::planar2);
  options.queries.neighbors_max = 1;
  protocol::QuerySpec graph;
  graph.k = 1;
  graph.anchor = AnchorKind::every_object;
  EmbeddedHost host(options, cpu::make_engine({.threads = 1}), "the engine of a test");
  start_replay(host, {"replay", ReportOn::order, {graph}});
  const std::vector<TraceRow> rows{{.id = ObjectId{1}}, {.id = ObjectId{2}}};
  host.put_objects(rows);
  EXPECT_EQ(host.settle().accepted, 2u);
  EXPECT_THROW(host.advance(0, {}), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(SpacesAndModes, ReplayTargets,
                         testing::Combine(testing::Values(Space::planar2, Space::planar3,
                                                          Space::wgs84),
                                          testing::Bool()));

TEST(ReplayTargets, CountTheSameLateRowsInFileOrder) {
  const std::vector<TraceRow> rows = random_walks(3, Space::planar2);
  const ReplaySetup setup{"replay", ReportOn::distance, every_kind_of_query()};
  const Outcome embedded = run_embedded(rows, Space::planar2, setup, false, 1);
  const Outcome served = run_server(rows, Space::planar2, setup, false);
  EXPECT_GT(embedded.result.late, 0u);
  EXPECT_EQ(embedded.result.late, served.result.late);
  EXPECT_EQ(embedded.csv, served.csv);
}

TEST(ReplayTargets, ChangesAreAPartOfTheWhole) {
  std::vector<TraceRow> rows = random_walks(5, Space::planar2);
  rows = sorted(rows);
  const ReplaySetup setup{"replay", ReportOn::membership, every_kind_of_query()};
  const Outcome changes = run_embedded(rows, Space::planar2, setup, true, 1);
  const ReplaySetup whole_setup{"replay", ReportOn::distance, every_kind_of_query()};
  const Outcome whole = run_embedded(rows, Space::planar2, whole_setup, false, 1);
  std::set<std::string> whole_lines;
  std::istringstream whole_text(whole.csv);
  for (std::string line; std::getline(whole_text, line);) whole_lines.insert(line);
  std::istringstream changes_text(changes.csv);
  std::size_t count = 0;
  for (std::string line; std::getline(changes_text, line); ++count)
    ASSERT_TRUE(whole_lines.contains(line)) << line;
  EXPECT_LT(count, whole_lines.size());
}

class LossyReplay : public testing::TestWithParam<std::tuple<ReportOn, bool, std::int64_t>> {};

TEST_P(LossyReplay, GivesTheSameBytes) {
  const auto [on, changes_only, missed_after_ms] = GetParam();
  std::vector<TraceRow> rows = random_walks(13, Space::planar2);
  rows = sorted(rows);
  const ReplaySetup setup{"replay", on, every_kind_of_query()};
  stream::ServerOptions options = stream::manual_options();
  options.processor = processor_options(Space::planar2);
  options.snapshots.interval_us = 0;  // no limit on the rate of snapshots
  const stream::RunningServer server(options);
  const LossyWay way(server.context(), server.endpoints().results);
  ServerHost host(server.context(),
                  {.commands = server.endpoints().commands,
                   .results = way.endpoint,
                   .missed_after_ms = missed_after_ms},
                  "replay");
  start_replay(host, setup);
  EXPECT_EQ(run(host, rows, changes_only).csv,
            run_embedded(rows, Space::planar2, setup, changes_only, 1).csv);
  EXPECT_GE(way.lost, 5);
}

// The last parameter is missed_after_ms. With 0, every tick that has not arrived yet counts as
// missed.
INSTANTIATE_TEST_SUITE_P(KindsModesAndPatience, LossyReplay,
                         testing::Combine(testing::Values(ReportOn::membership, ReportOn::order,
                                                          ReportOn::distance),
                                          testing::Bool(), testing::Values(0, 50)));

TEST(ServerTarget, RefusesAServerThatTicksByItself) {
  stream::ServerOptions options = stream::manual_options();
  options.tick_period_us = 60'000'000;
  const stream::RunningServer server(options);
  EXPECT_THAT(
      [&] { ServerHost(server.context(), endpoints_of(server), "replay"); },
      testing::ThrowsMessage<UsageError>(HasSubstr("needs one started with --tick manual")));
}

TEST(ServerTarget, TellsTheServerTheObjectsNames) {
  const stream::RunningServer server;
  ServerHost host(server.context(), endpoints_of(server), "replay");
  NameTable names;
  names.intern("car_0");
  names.intern("17");
  host.put_names(names, "objects' names");

  NameTable wrong;
  wrong.put(5, "car_1");
  EXPECT_THAT(
      [&] {
        ServerHost(server.context(), endpoints_of(server), "replay")
            .put_names(wrong, "objects' names");
      },
      testing::ThrowsMessage<std::runtime_error>(HasSubstr(" rejects 1 of the objects' names: ")));
}

TEST(ServerTarget, SaysWhichLimitOfTheServerIsReached) {
  stream::ServerOptions options = stream::manual_options();
  options.processor.queries.queries_max = 2;
  const stream::RunningServer server(options);
  ServerHost host(server.context(), endpoints_of(server), "replay");
  std::vector<protocol::QuerySpec> queries;
  for (std::uint64_t id = 1; id <= 3; ++id) queries.push_back({.id = QueryId{id}, .k = 1});
  EXPECT_THAT(
      [&] {
        start_replay(host, {"replay", ReportOn::distance, queries});
      },
      testing::ThrowsMessage<std::runtime_error>(
          "the server at " + server.endpoints().commands + " rejects 1 of the queries: " +
          std::string(to_string(protocol::RowReason::too_many_queries)) +
          "; its limit is queries-max (2)"));
}

TEST(ServerTarget, LearnsTheNamesOfObjectsThatOthersPut) {
  stream::RunningServer server;
  const std::uint64_t tram = to_number(protocol::id_of_text("tram 7"));
  const std::uint64_t ids[] = {tram};
  ASSERT_TRUE(server.client().put_names({ids, {"tram 7"}}));
  ServerHost host(server.context(), endpoints_of(server), "replay");
  NameTable names;
  const std::uint64_t own = names.intern("car_0").id;
  protocol::ListStore lists;
  lists[{QueryId{1}, true, ObjectId{tram}}].neighbors = {{ObjectId{own}, 1}, {ObjectId{9}, 2}};
  host.learn_names(lists, names);
  EXPECT_EQ(names.texts().at(tram), "tram 7");
  EXPECT_EQ(names.texts().at(own), "car_0");
  EXPECT_EQ(names.texts().at(9), "") << "the name of an unnamed id is its number";
}

TEST(ServerTarget, SaysWhichEndpointIsWrongWhenItsSubscriptionDoesNotArrive) {
  stream::RunningServer server;
  ServerHost host(server.context(),
                  {.commands = server.endpoints().commands,
                   .results = "tcp://127.0.0.1:1",
                   .connect_timeout_ms = 2000},
                  "replay");
  EXPECT_THAT(
      [&] {
        start_replay(host, {"replay", ReportOn::distance, every_kind_of_query()});
      },
      testing::ThrowsMessage<std::runtime_error>(
          HasSubstr("timed out after 2000 ms while waiting for the stream at tcp://127.0.0.1:1; is "
                    "--results right?")));
}

TEST(ServerTarget, ALaterReplayGoesOnWhereTheServerIs) {
  stream::ServerOptions options = stream::manual_options();
  options.processor = processor_options(Space::planar2);
  const stream::RunningServer server(options);
  std::vector<TraceRow> rows = random_walks(11, Space::planar2);
  rows = sorted(rows);
  const auto middle =
      std::ranges::find_if(rows, [](const TraceRow& row) { return row.time_us > 20 * tick_us; });
  const std::vector<TraceRow> early(rows.begin(), middle);
  const std::vector<TraceRow> rest(middle, rows.end());
  const ReplaySetup setup{"replay", ReportOn::distance, every_kind_of_query()};
  const auto replay_into_server = [&](const std::vector<TraceRow>& part) {
    ServerHost host(server.context(), endpoints_of(server), "replay");
    return run(host, part, false, start_replay(host, setup)).csv;
  };
  const std::string header = "tick,time_us,query_id,rank,object_id,distance_m\n";
  const std::string first = replay_into_server(early);
  const std::string second = replay_into_server(rest);
  EXPECT_EQ(first + second.substr(header.size()),
            run_embedded(rows, Space::planar2, setup, false, 1).csv);
  EXPECT_THROW(replay_into_server(early), protocol::RefusedError) << "the clock does not go back";
}

}  // namespace
}  // namespace starling::sim
