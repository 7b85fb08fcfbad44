// SPDX-License-Identifier: Apache-2.0
// Tests the replay loop with a host that records the rows and ticks that it receives.
#include "starling/sim/replay/replay.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/sorted_rows.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;

TraceRow row(std::uint64_t id, std::int64_t time_us) {
  return {ObjectId{id}, time_us, {}, 0, false};
}

/// Records, for each tick, the times of all rows that were put before the tick.
class RecordingHost : public LockStepHost {
 public:
  struct Snapshot {
    std::int64_t tau_us = 0;
    std::vector<std::int64_t> times_us;  ///< times of all rows put so far
  };
  std::vector<Snapshot> snapshots;

  void put_objects(std::span<const TraceRow> rows) override {
    for (const TraceRow& staged : rows) times_us_.push_back(staged.time_us);
    put_ += rows.size();
  }
  RowCounts settle() override { return {std::exchange(put_, 0), 0, 0}; }

  FinishedTick advance(std::int64_t tau_us, const ListHandler&) override {
    snapshots.push_back({tau_us, times_us_});
    return {Tick{snapshots.size()}, tau_us, 0, {}};
  }

  const std::string& describe() const override { return name_; }
  const SpaceOptions& space() const override { return space_; }
  protocol::ListStore open(const HostStream&) override { return {}; }
  void put_tags(std::span<const TagUpdate>) override {}
  void put_queries(std::span<const protocol::QuerySpec>) override {}
  void remove_queries(std::span<const QueryId>) override {}
  void settle_all(const std::string&) override {}

 private:
  std::string name_ = "the host of a test";
  SpaceOptions space_;
  std::vector<std::int64_t> times_us_;
  std::uint64_t put_ = 0;
};

/// A RecordingHost that lets the next tick begin before the last one's lists are used. Notes each
/// call.
class AheadHost : public RecordingHost {
 public:
  std::vector<std::string> calls;

  bool runs_ahead() const override { return true; }
  void begin(std::int64_t tau_us) override {
    calls.push_back("begin " + std::to_string(tau_us));
    begun_.push_back(RecordingHost::advance(tau_us, {}));
  }
  FinishedTick finish(const ListHandler&) override {
    const FinishedTick tick = begun_.front();
    begun_.pop_front();
    calls.push_back("finish " + std::to_string(tick.tau_us));
    return tick;
  }

 private:
  std::deque<FinishedTick> begun_;
};

RecordingHost replay_rows(const std::vector<TraceRow>& rows, std::int64_t tick_us) {
  RecordingHost host;
  replay(*stream_of(rows, RowOrder::file), {.tick_us = tick_us, .wait = {}}, host, nullptr, {});
  return host;
}

TEST(ReplayClock, TheFirstTickIsTheFirstMultipleAtOrAfterTheFirstEvent) {
  EXPECT_EQ(first_tick_us(0, 10), 0);
  EXPECT_EQ(first_tick_us(1, 10), 10);
  EXPECT_EQ(first_tick_us(10, 10), 10);
  EXPECT_EQ(first_tick_us(-1, 10), 0);
  EXPECT_EQ(first_tick_us(-10, 10), -10);
  EXPECT_EQ(first_tick_us(-11, 10), -10);
}

TEST(ReplayClock, EachSnapshotHoldsExactlyTheRowsUpToTau) {
  constexpr unsigned seed = 20220103;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const std::int64_t tick_us : {1, 7, 100, 1000}) {
    std::vector<TraceRow> rows;
    for (std::uint64_t id = 0; id < 500; ++id)
      rows.push_back(row(id, static_cast<std::int64_t>(random() % 5000) - 2500));
    rows = sorted(rows);
    const RecordingHost host = replay_rows(rows, tick_us);
    std::int64_t expected_us = first_tick_us(rows.front().time_us, tick_us);
    for (const RecordingHost::Snapshot& snapshot : host.snapshots) {
      ASSERT_EQ(snapshot.tau_us, expected_us) << "ticks also run where the trace has no rows";
      expected_us += tick_us;
      const auto due = std::ranges::count_if(
          rows, [&](const TraceRow& each) { return each.time_us <= snapshot.tau_us; });
      ASSERT_EQ(static_cast<std::ptrdiff_t>(snapshot.times_us.size()), due);
      for (const std::int64_t time_us : snapshot.times_us) ASSERT_LE(time_us, snapshot.tau_us);
    }
    EXPECT_EQ(host.snapshots.back().tau_us, first_tick_us(rows.back().time_us, tick_us));
  }
}

TEST(ReplayClock, InFileOrderTheClockFollowsTheNewestTimeSeen) {
  const std::vector<TraceRow> rows{row(1, 10), row(2, 25), row(3, 5), row(4, 31), row(5, 30)};
  const RecordingHost host = replay_rows(rows, 10);
  ASSERT_EQ(host.snapshots.size(), 4u);
  EXPECT_THAT(host.snapshots[0].times_us, ElementsAre(10));
  EXPECT_THAT(host.snapshots[1].times_us, ElementsAre(10));
  EXPECT_THAT(host.snapshots[2].times_us, ElementsAre(10, 25, 5));
  EXPECT_THAT(host.snapshots[3].times_us, ElementsAre(10, 25, 5, 31, 30));
  EXPECT_EQ(host.snapshots[3].tau_us, 40);
}

TEST(ReplayClock, WaitsForEachTickByItsDistanceFromTheFirst) {
  std::vector<std::int64_t> waits;
  RecordingHost host;
  const std::vector<TraceRow> rows{row(1, 15), row(1, 45)};
  replay(*stream_of(rows), {.tick_us = 10, .wait = [&](std::int64_t us) { waits.push_back(us); }},
         host, nullptr, {});
  EXPECT_THAT(waits, ElementsAre(0, 10, 20, 30));
}

TEST(ReplayAhead, ATickBeginsBeforeTheListsOfTheLastAreUsedAndEachCountsItsOwnRows) {
  AheadHost host;
  const std::vector<TraceRow> rows{row(1, 10), row(2, 11), row(3, 19), row(4, 30)};
  std::vector<std::pair<std::int64_t, std::uint64_t>> handled;
  const auto on_tick = [&](const FinishedTick& tick, const ReplayProgress& progress) {
    handled.emplace_back(tick.tau_us, progress.rows_done);
  };
  replay(*stream_of(rows), {.tick_us = 10, .wait = {}}, host, nullptr, on_tick);
  EXPECT_THAT(host.calls, ElementsAre("begin 10", "begin 20", "finish 10", "begin 30", "finish 20",
                                      "finish 30"));
  EXPECT_THAT(handled, ElementsAre(std::pair(10, 1u), std::pair(20, 3u), std::pair(30, 4u)));
  EXPECT_THAT(host.snapshots[1].times_us, ElementsAre(10, 11, 19));
}

TEST(ReplayAhead, AReplayThatWaitsForItsClockUsesTheListsOfEachTickAtOnce) {
  AheadHost host;
  const std::vector<TraceRow> rows{row(1, 10), row(2, 20)};
  replay(*stream_of(rows), {.tick_us = 10, .wait = [](std::int64_t) {}}, host, nullptr, {});
  EXPECT_THAT(host.calls, ::testing::IsEmpty());
  EXPECT_EQ(host.snapshots.size(), 2u);
}

/// Reports a list in the ticks at the given times.
class ReportingHost : public RecordingHost {
 public:
  explicit ReportingHost(std::vector<std::int64_t> times_us) : times_us_(std::move(times_us)) {}

  FinishedTick advance(std::int64_t tau_us, const ListHandler& on_list) override {
    if (std::ranges::find(times_us_, tau_us) != times_us_.end())
      on_list({QueryId{1}, false, {}}, ListEvent::updated, {});
    return RecordingHost::advance(tau_us, on_list);
  }

 private:
  std::vector<std::int64_t> times_us_;
};

TEST(ReplayClock, ATickIsIdleWithoutRowsAndWithoutChanges) {
  ReportingHost host({10, 40});
  const std::vector<TraceRow> rows{row(1, 10), row(2, 20), row(1, 60)};
  std::vector<std::int64_t> idle_us;
  const auto on_tick = [&](const FinishedTick& tick, const ReplayProgress& progress) {
    if (progress.is_idle) idle_us.push_back(tick.tau_us);
  };
  protocol::ListStore lists;
  replay(*stream_of(rows), {.tick_us = 10, .wait = {}}, host, &lists, on_tick);
  EXPECT_THAT(idle_us, ElementsAre(30, 50));
}

TEST(ReplayClock, ATraceWithoutRowsHasNoTicks) {
  EXPECT_TRUE(replay_rows({}, 10).snapshots.empty());
}

TEST(ReplayClock, RefusesASpanOfMoreTicksThanItsLimit) {
  const std::vector<TraceRow> rows{row(1, 0), row(1, 1'600'000'000'000'000)};
  EXPECT_THROW(replay_rows(rows, 1000), UsageError);
}

}  // namespace
}  // namespace starling::sim
