// SPDX-License-Identifier: Apache-2.0
// Tests a server whose memory is used up. It goes on with what it holds, and refuses to hold more.
// Most tests set how much memory is in use. The last test fills a process that has a limit.
#include <atomic>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/resident_bytes.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;
using protocol::RowReason;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

class ShortMemory : public testing::Test {
 protected:
  ShortMemory() {
    client.put_stream({.name = "s", .on = ReportOn::order, .with = {}}).value();
    EXPECT_EQ(put_query(1, 2).accepted, 1u);
    EXPECT_EQ(put_objects(0, 100).accepted, 100u);
    use_up();
  }

  ServerOptions options() {
    ServerOptions options = manual_options();
    options.memory_bytes_max = 100 * mib;
    options.memory_use = [this] { return MemoryUse{.resident = used, .address_space = used}; };
    return options;
  }
  // The server looks at its memory at most once in 10 ms.
  void use_up() { set_used(100 * mib); }
  void set_used(std::uint64_t bytes) {
    used = bytes;
    const std::int64_t since_us = steady_now_us();
    while (steady_now_us() - since_us <= 10'000) {
    }
  }

  protocol::BatchReply put_objects(std::uint64_t first, std::uint64_t count) {
    Fixes fixes;
    ++time_us;
    for (std::uint64_t id = first; id < first + count; ++id)
      fixes.add(id, time_us, static_cast<double>(id), 0);
    return client.update(fixes.batch()).value();
  }
  protocol::BatchReply put_query(std::uint64_t id, std::uint32_t k) {
    return client.put_queries({"s", {nearest_to(id, k, 0, 0)}}).value();
  }
  static void expect_for_memory(const protocol::BatchReply& reply, RowReason reason,
                                std::uint64_t count) {
    EXPECT_EQ(reply.rejected, count);
    ASSERT_EQ(reply.reasons.size(), 1u);
    EXPECT_EQ(reply.reasons[0].reason, reason);
    EXPECT_EQ(reply.reasons[0].limit, (protocol::ReachedLimit{"memory-bytes-max", 100 * mib}));
  }

  std::atomic<std::uint64_t> used{50 * mib};
  std::int64_t time_us = 0;
  RunningServer server{options()};
  protocol::Client client = server.client();
};

TEST_F(ShortMemory, UpdatesOfKnownObjectsGoOnAndUnknownOnesAreRefused) {
  const auto reply = put_objects(50, 100);
  EXPECT_EQ(reply.accepted, 50u);
  expect_for_memory(reply, RowReason::too_many_objects, 50);
  EXPECT_EQ(client.advance_tick(time_us).value().object_count, 100u);
  EXPECT_EQ(server.stat("starling_limit_used{name=\"memory-bytes-max\"}") > 0, true);
}

TEST_F(ShortMemory, AnObjectFindsThePlaceOfOneThatLeft) {
  ASSERT_EQ(client
                .remove_objects({.ids = std::vector<std::uint64_t>{7},
                                 .times_us = std::vector<std::int64_t>{++time_us}})
                .value()
                .accepted,
            1u);
  client.advance_tick(++time_us).value();
  client.advance_tick(time_us + 2 * 3'600'000'000).value();
  EXPECT_EQ(put_objects(1000, 1).accepted, 1u);
  EXPECT_EQ(put_objects(1001, 1).rejected, 1u);
}

TEST_F(ShortMemory, QueriesThatExistMayBePutAgainIfTheyAskForNoMore) {
  EXPECT_EQ(put_query(1, 2).accepted, 1u);
  expect_for_memory(put_query(1, 3), RowReason::too_many_neighbors, 1);
  expect_for_memory(put_query(2, 1), RowReason::too_many_queries, 1);
  EXPECT_EQ(put_query(1, 1).accepted, 1u);
}

TEST_F(ShortMemory, ListsThatWouldNotFitAreRefusedBeforeTheyAreMade) {
  set_used(50 * mib);
  std::vector<protocol::QuerySpec> queries;
  for (std::uint64_t id = 10; id < 20; ++id) {
    queries.push_back(nearest_to(id, 800, 0, 0));  // 100 objects: each query takes about 10 MB
    queries.back().anchor = AnchorKind::every_object;
  }
  const auto reply = client.put_queries({"s", queries}).value();
  EXPECT_EQ(reply.accepted, 5u);
  expect_for_memory(reply, RowReason::too_many_neighbors, 5);
  EXPECT_EQ(put_query(1, 3).accepted, 1u) << "what is small still fits";
  client.advance_tick(time_us).value();
  expect_for_memory(client.put_queries({"s", {queries.back()}}).value(),
                    RowReason::too_many_neighbors, 1);
  EXPECT_EQ(put_objects(100, 1).accepted, 1u) << "a refused query takes nothing from others";
}

TEST_F(ShortMemory, NoNameAndNoStreamIsAdded) {
  const std::vector<std::uint64_t> ids{to_number(protocol::id_of_text("car"))};
  const std::vector<std::string_view> texts{"car"};
  expect_for_memory(client.put_names({ids, texts}).value(), RowReason::too_many_names, 1);
  auto refused = client.put_stream({.name = "t", .on = ReportOn::order, .with = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.problem().code, ErrorCode::too_many_streams);
  EXPECT_EQ(refused.problem().limit.name, "memory-bytes-max");
  EXPECT_TRUE(client.put_stream({.name = "s", .on = ReportOn::distance, .with = {}}));
}

TEST_F(ShortMemory, QuestionsAndOneSnapshotAtATimeAreAnswered) {
  client.advance_tick(time_us).value();
  EXPECT_EQ(client.get_neighbors({{nearest_to(0, 5, 0, 0)}}).value().lists[0].neighbors.size(), 5u);
  // The lists need two pages, so the snapshot is held after the first one.
  set_used(40 * mib);
  ASSERT_EQ(put_objects(0, 1000).accepted, 1000u);
  client
      .put_stream({.name = "wide",
                   .on = ReportOn::order,
                   .with = {.distance = true, .position = true, .tags = true}})
      .value();
  std::vector<protocol::QuerySpec> queries;
  for (std::uint64_t id = 0; id < 500; ++id) queries.push_back(nearest_to(id, 1000, 0, 0));
  ASSERT_EQ(client.put_queries({"wide", queries}).value().accepted, queries.size());
  client.advance_tick(time_us).value();
  use_up();
  RawPeer peer(server.context(), server.endpoints().commands);
  const protocol::RequestHead head{.request_id = 1, .session = peer.hello(), .sequence = 0};
  const std::string frame = encoded(head, protocol::GetSnapshot{.stream = "wide"});
  EXPECT_EQ(peer.ask(frame)->error(), ErrorCode::none);
  EXPECT_EQ(peer.ask(frame)->error(), ErrorCode::busy);
  set_used(50 * mib);
  EXPECT_EQ(peer.ask(frame)->error(), ErrorCode::none);
}

TEST_F(ShortMemory, ItGoesOnAsBeforeWhenMemoryIsFree) {
  ASSERT_EQ(put_objects(100, 1).rejected, 1u);
  set_used(97 * mib);
  EXPECT_EQ(put_objects(100, 1).accepted, 1u);
  EXPECT_EQ(put_query(2, 1).accepted, 1u);
}

class FullProgram : public ProgramTest {};

// Without the budget, an allocation fails and ends the program.
TEST_F(FullProgram, AProcessWithALimitIsFilledAndGoesOn) {
  if (sanitizer_bytes > 0) GTEST_SKIP() << "a sanitizer reserves more than the limit";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{.rlim_cur = 1400 * mib, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  Program program(serve({"--tick", "100ms", "--rows-max", "100000"}));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(program.says("ready")) << program.said();
  protocol::Client filler = client();
  const std::int64_t time_us = wall_now_us();
  constexpr std::uint64_t batch_rows = 100'000;
  std::uint64_t held = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t first = 0; refused < 5 * batch_rows && first < 400 * batch_rows;
       first += batch_rows) {
    Fixes fixes;
    for (std::uint64_t id = first; id < first + batch_rows; ++id)
      fixes.add(id, time_us, static_cast<double>(id % 1000), static_cast<double>(id / 1000));
    const auto reply = filler.update(fixes.batch()).value();
    held += reply.accepted;
    refused += reply.rejected;
  }
  EXPECT_GE(refused, 5 * batch_rows) << "the limit was never reached";
  EXPECT_GT(held, 5 * batch_rows);
  Fixes known;
  for (std::uint64_t id = 0; id < batch_rows; ++id) known.add(id, time_us + 1, 0, 0);
  for (int again = 0; again < 5; ++again) {
    EXPECT_EQ(filler.update(known.batch()).value().accepted, batch_rows);
    const std::uint64_t tick =
        to_number(filler.get_neighbors({{nearest_to(0, 5, 0, 0)}}).value().tick);
    EXPECT_TRUE(happens([&] {
      return to_number(filler.get_neighbors({{nearest_to(0, 5, 0, 0)}}).value().tick) > tick;
    })) << "ticks go on";
  }
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0) << program.said();
}

// The lists of the query would take more than a gigabyte.
TEST_F(FullProgram, AQueryThatOutgrowsTheBudgetIsRemovedBeforeItsListsAreMade) {
  if (sanitizer_bytes > 0) GTEST_SKIP() << "a sanitizer takes more memory";
  constexpr std::uint64_t bytes_max = 300 * mib;
  Program program(serve({"--tick", "50ms", "--memory-bytes-max", std::to_string(bytes_max)}));
  ASSERT_TRUE(program.says("ready")) << program.said();
  protocol::Client sender = client();
  sender.put_stream({.name = "s", .on = ReportOn::order, .with = {}}).value();
  std::vector<protocol::QuerySpec> queries{nearest_to(1, 1024, 0, 0), nearest_to(2, 2, 0, 0)};
  for (protocol::QuerySpec& query : queries) query.anchor = AnchorKind::every_object;
  EXPECT_EQ(sender.put_queries({"s", queries}).value().accepted, 2u);
  constexpr std::uint64_t batch_rows = 1000;
  std::uint64_t most = 0;
  for (std::uint64_t first = 0; first < 30 * batch_rows; first += batch_rows) {
    Fixes fixes;
    for (std::uint64_t id = first; id < first + batch_rows; ++id)
      fixes.add(id, wall_now_us(), static_cast<double>(id % 100), static_cast<double>(id / 100));
    EXPECT_EQ(sender.update(fixes.batch()).value().accepted, batch_rows);
    most = std::max<std::uint64_t>(most, program.resident_bytes());
  }
  EXPECT_TRUE(program.says("removes the every-object query 1 of stream \"s\""));
  EXPECT_TRUE(happens([&] {
    most = std::max<std::uint64_t>(most, program.resident_bytes());
    std::uint64_t lists = 0;
    sender
        .get_snapshot({.stream = "s"},
                      [&](const protocol::SnapshotPage& page) { lists += page.lists.list_count(); })
        .value();
    return lists == 30 * batch_rows;
  })) << "query 2 stays";
  EXPECT_LT(most, bytes_max + bytes_max / 10);
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0) << program.said();
}

}  // namespace
}  // namespace starling::stream
