// SPDX-License-Identifier: Apache-2.0
// Tests that the log says which every-object queries have outgrown a quota or the memory. Replays
// and restarts remove the same queries, and need neither the keys file nor the memory of then.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/journal/log_scan.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/log_run.hpp"
#include "starling/stream/recovery/replayed_tables.hpp"
#include "tests/stream/access/access_world.hpp"
#include "tests/stream/access/keys_folder.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {
namespace {

using protocol::RowReason;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

protocol::QuerySpec around_each(std::uint64_t id, std::uint32_t k) {
  protocol::QuerySpec query = nearest_to(id, k, 0, 0);
  query.anchor = AnchorKind::every_object;
  return query;
}

std::vector<OutgrownRecord> outgrown_in(const std::string& folder) {
  std::vector<OutgrownRecord> found;
  const auto files = log::open_folder(folder, log::FolderUse::read);
  log::read_log(*files, [&](const log::Group& group) {
    for (const log::Record& record : group.records)
      if (record.type == record_type::outgrown)
        found.push_back(std::get<OutgrownRecord>(decode(record)));
  });
  return found;
}

LogRunCounts run_again(const std::string& folder) {
  const auto files = log::open_folder(folder, log::FolderUse::read);
  return LogRun(*files, {.make_engine = engine_for}).run({}, [](const RanTick&) { return true; });
}

/// A server with a log, without keys, which believes that it uses `used` bytes.
class OutgrownInTheLog : public testing::Test {
 protected:
  void start(std::uint64_t bytes_max) {
    client_.reset();
    server_.reset();
    ServerOptions options = journal_options(folder_.path());
    options.memory_bytes_max = bytes_max;
    options.memory_use = [this] { return MemoryUse{.resident = used_, .address_space = used_}; };
    server_ = std::make_unique<RunningServer>(options);
    client_ = std::make_unique<protocol::Client>(server_->client());
  }
  protocol::BatchReply put(const std::vector<protocol::QuerySpec>& queries) {
    return client_->put_queries({"s", queries}).value();
  }
  void put_objects(std::uint64_t first, std::uint64_t count) {
    Fixes fixes;
    for (std::uint64_t id = first; id < first + count; ++id)
      fixes.add(id, ++time_us_, static_cast<double>(id), 0);
    EXPECT_EQ(client_->update(fixes.batch()).value().accepted, count);
  }
  protocol::TickDone tick() { return client_->advance_tick(++time_us_).value(); }
  std::uint64_t queries() {
    return static_cast<std::uint64_t>(server_->stat("starling_limit_used{name=\"queries-max\"}"));
  }

  JournalFolder folder_;
  std::atomic<std::uint64_t> used_{50 * mib};
  std::int64_t time_us_ = 0;
  std::unique_ptr<RunningServer> server_;
  std::unique_ptr<protocol::Client> client_;
};

TEST_F(OutgrownInTheLog, AQueryThatOutgrowsTheMemoryIsRemovedAndTheTickSucceeds) {
  start(60 * mib);
  client_->put_stream({.name = "s", .on = ReportOn::order, .with = {}}).value();
  put_objects(0, 100);
  EXPECT_EQ(put({around_each(1, 100), around_each(2, 10)}).accepted, 2u);
  EXPECT_EQ(tick().list_count, 200u);
  const auto refused = put({around_each(3, 1000)});
  EXPECT_EQ(refused.rejected, 1u);
  EXPECT_EQ(refused.reasons.at(0).reason, RowReason::too_many_neighbors);
  EXPECT_EQ(refused.reasons.at(0).limit, (protocol::ReachedLimit{"memory-bytes-max", 60 * mib}));
  put_objects(100, 900);  // query 1 alone may take 12 MB now
  const protocol::TickDone done = tick();
  EXPECT_GE(done.list_count, 900u);
  EXPECT_EQ(done.removal_count, 1u);
  EXPECT_EQ(queries(), 1u);
  EXPECT_EQ(tick().removal_count, 0u);
  server_->stop();
  const auto records = outgrown_in(folder_.path());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].tick, Tick{2});
  EXPECT_EQ(records[0].stream, "s");
  EXPECT_THAT(records[0].ids, ElementsAre(1));
  const LogRunCounts counts = run_again(folder_.path());
  EXPECT_EQ(counts.equal, 3u);
  EXPECT_EQ(counts.different, 0u);
  start(1000 * mib);
  EXPECT_EQ(queries(), 1u);
}

TEST_F(OutgrownInTheLog, AServerWithLessMemoryThanBeforeStartsWithoutTheLargestQuery) {
  start(1000 * mib);
  client_->put_stream({.name = "s", .on = ReportOn::order, .with = {}}).value();
  put_objects(0, 1000);
  EXPECT_EQ(put({around_each(1, 100), around_each(2, 10)}).accepted, 2u);
  EXPECT_EQ(tick().list_count, 2000u);
  start(60 * mib);
  EXPECT_EQ(queries(), 1u);
  const auto lists = client_->get_neighbors({{nearest_to(0, 5, 0, 0)}}).value();
  EXPECT_EQ(lists.tick, Tick{2}) << "its messages were not sent, so subscribers ask for all lists";
  EXPECT_EQ(lists.lists[0].neighbors.size(), 5u);
  ++time_us_;
  EXPECT_EQ(tick().tick, Tick{3});
  for (const std::uint64_t bytes_max : {60 * mib, 1000 * mib}) {
    start(bytes_max);
    EXPECT_EQ(queries(), 1u);
    EXPECT_EQ(tick().removal_count, 0u);
  }
  server_->stop();
  EXPECT_EQ(outgrown_in(folder_.path()).size(), 1u);
  EXPECT_EQ(run_again(folder_.path()).different, 0u);
}

/// Tables that a log fills, with a stream, two every-object queries and ten objects.
class OutgrownRecords : public testing::Test {
 protected:
  OutgrownRecords() {
    const KeptOptions kept{.space = {},
                           .object_ttl_us = ObjectTableOptions::never_us,
                           .tombstone_ttl_us = 10,
                           .neighbors_max = 100};
    tables_ = std::make_unique<ReplayedTables>(to_text(kept), engine_for, SessionLimits{});
    ObjectsChange objects;
    for (std::uint64_t id = 0; id < 10; ++id) objects.rows.push_back({.id = ObjectId{id}});
    QueriesChange queries{.stream = "s", .rows = {}};
    for (const std::uint64_t id : {1u, 2u})
      queries.rows.push_back({.id = QueryId{id}, .k = 1, .anchor = {AnchorKind::every_object}});
    apply(SessionOpenedRecord{.session = 1});
    apply(request(1, StreamChange{.name = "s"}));
    apply(request(2, std::move(objects)));
    apply(request(3, std::move(queries)));
  }
  static RequestRecord request(std::uint64_t sequence, Change change) {
    return {.session = 1, .sequence = sequence, .reply = {}, .change = std::move(change)};
  }
  void apply(const JournalRecord& record) { tables_->replay().apply(record); }
  void tick(std::uint64_t number) {
    apply(TickBegunRecord{.tick = Tick{number}, .tau_us = 1});
    apply(TickFinishedRecord{.tick = Tick{number}, .error = {}});
  }
  std::uint64_t queries() const { return tables_->processor().queries().query_count(); }

  std::unique_ptr<ReplayedTables> tables_;
};

TEST_F(OutgrownRecords, RemoveWhatTheySayWithTheTicksMark) {
  apply(OutgrownRecord{.tick = Tick{1}, .stream = "s", .ids = {2}});
  EXPECT_EQ(queries(), 2u);
  tick(1);
  EXPECT_EQ(queries(), 1u);
  EXPECT_TRUE(tables_->processor().queries().is_live(0));
}

TEST_F(OutgrownRecords, MeanNothingIfTheServerEndedBeforeTheMark) {
  apply(OutgrownRecord{.tick = Tick{1}, .stream = "s", .ids = {2}});
  apply(RunRecord{.runs = {{.id = 7, .begun = 1}}});
  tick(1);
  EXPECT_EQ(queries(), 2u);
}

TEST_F(OutgrownRecords, OfUnknownQueriesAreRefused) {
  apply(OutgrownRecord{.tick = Tick{1}, .stream = "s", .ids = {3}});
  EXPECT_THROW(tick(1), std::runtime_error);
}

TEST(OutgrownScan, NoSnapshotStandsForARecordWithoutTheMarkAfterIt) {
  LogScan scan;
  std::uint64_t sequence = 0;
  const auto look_at = [&](const auto& record) {
    RecordBytes bytes;
    encode(record, bytes);
    scan.look_at({.type = record_type_of(record),
                  .version = record_version,
                  .sequence = ++sequence,
                  .payload = bytes});
    return scan.clean_end();
  };
  EXPECT_EQ(look_at(EpochRecord{7}), 2u);
  EXPECT_EQ(look_at(OutgrownRecord{.tick = Tick{1}, .stream = "s", .ids = {1}}), 2u);
  EXPECT_EQ(look_at(TickBegunRecord{.tick = Tick{1}}), 2u);
  EXPECT_EQ(look_at(TickFinishedRecord{.tick = Tick{1}, .error = {}}), 5u);
}

// Older servers wrote no such records, and a replay removed what the limit says.
TEST_F(OutgrownRecords, AreNotNeededForTheLimitOfTheWholeTable) {
  QueriesChange large{.stream = "s", .rows = {}};
  large.rows.push_back({.id = QueryId{3}, .k = 8, .anchor = {AnchorKind::every_object}});
  apply(request(4, std::move(large)));
  EXPECT_EQ(queries(), 3u);
  tick(1);
  EXPECT_EQ(queries(), 3u);
  ObjectsChange objects;
  objects.rows.push_back({.id = ObjectId{10}});
  apply(request(5, std::move(objects)));
  tick(2);
  EXPECT_EQ(queries(), 2u);
}

}  // namespace
}  // namespace starling::stream
