// SPDX-License-Identifier: Apache-2.0
// Tests the order in which the tables change, when they may grow, and the server's time.
#include "starling/stream/tables/tables.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/stream/support/manual_executor.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

/// Tables, and the texts of their events in order.
struct TablesWorld {
  explicit TablesWorld(bool has_log = false)
      : tables(executor, ProcessorOptions(), make_engine(),
               {.memory = {.bytes_max = 1000,
                           .limits = {},
                           .use =
                               [this] {
                                 return MemoryUse{memory_used, memory_used};
                               }},
                .names = {},
                .time = {.is_manual = true,
                         .future_max_us = 50,
                         .boot_now_us = [this] { return executor.now_us(); },
                         .wall_now_us = [this] { return executor.now_us(); }},
                .updates = {.threads = 1,
                            .has_log = has_log,
                            .applied =
                                [this](const GroupOutcome& outcome) {
                                  said.push_back("group of " + std::to_string(outcome.rows));
                                }},
                .has_room_again = [this] { said.emplace_back("room"); }}) {}

  ManualExecutor executor;
  std::vector<std::string> said;
  std::uint64_t memory_used = 0;
  Tables tables;
};

class RowsOf final : public WaitingUpdate {
 public:
  RowsOf(TablesWorld& world, std::uint64_t id) : WaitingUpdate(1, 10), world_(world), id_(id) {
    auto& set = rows_.emplace<protocol::RowSet<ObjectUpdate>>();
    set.rows.push_back({.id = ObjectId{id}, .time_us = 1});
    set.reasons.resize(1);
  }
  protocol::PreparedRows& rows() override { return rows_; }
  void applied(const GroupOutcome&) override {
    const bool is_accepted = statuses()[0] == UpdateStatus::accepted;
    world_.said.push_back((is_accepted ? "accepted " : "rejected ") + std::to_string(id_));
  }

 private:
  TablesWorld& world_;
  std::uint64_t id_;
  protocol::PreparedRows rows_;
};

using Said = std::vector<std::string>;

TEST(Tables, UpdatesAreAppliedInGroupsBeforeAnythingElseUsesTheTables) {
  TablesWorld world;
  world.tables.updates().add(std::make_unique<RowsOf>(world, 1));
  world.tables.updates().add(std::make_unique<RowsOf>(world, 2));
  EXPECT_TRUE(world.said.empty());
  EXPECT_EQ(world.tables.settled().objects().known_count(), 2u);
  EXPECT_EQ(world.said, (Said{"group of 2", "accepted 1", "accepted 2"}));
}

TEST(Tables, SlicesKeepUpdatesAndTicksWaitingAndTellWhenThereIsRoom) {
  TablesWorld world(true);
  int steps = 0;
  // Each step takes as long as a turn may take.
  world.tables.slice(
      [&] {
        world.executor.advance(SlicedWork::slice_us);
        return ++steps == 3;
      },
      [&] { world.said.emplace_back("changed"); });
  EXPECT_EQ(steps, 1);
  EXPECT_FALSE(world.tables.is_free());
  EXPECT_FALSE(world.tables.has_room());
  world.tables.updates().add(std::make_unique<RowsOf>(world, 1));
  world.tables.prepare_tick(
      5, [] { return true; }, [&] { world.said.emplace_back("ready"); });
  world.tables.when_free([&] { world.said.emplace_back("result taken"); });
  world.executor.run();
  EXPECT_EQ(world.said, (Said{"changed", "result taken", "ready", "room"}));
  world.tables.settled();
  EXPECT_EQ(world.said.back(), "accepted 1");
  EXPECT_TRUE(world.tables.has_room());
}

TEST(Tables, WithoutALogAResultIsTakenAtOnce) {
  TablesWorld world;
  world.tables.slice(
      [&] {
        world.executor.advance(SlicedWork::slice_us);
        return false;
      },
      [] {});
  EXPECT_FALSE(world.tables.is_free());
  bool is_taken = false;
  world.tables.when_free([&] { is_taken = true; });
  EXPECT_TRUE(is_taken);
}

TEST(Growth, BeyondTheBudgetNothingIsAddedUntilMemoryIsFree) {
  TablesWorld world;
  EXPECT_TRUE(world.tables.growth().let_grow(100));
  world.memory_used = 2000;
  world.executor.advance(1'000'000);
  EXPECT_FALSE(world.tables.growth().let_grow(1));
  EXPECT_TRUE(world.tables.growth().is_short());
  world.tables.updates().add(std::make_unique<RowsOf>(world, 1));
  world.tables.settled();
  EXPECT_EQ(world.said, (Said{"group of 1", "rejected 1"}));
  world.memory_used = 0;
  world.executor.advance(1'000'000);
  EXPECT_TRUE(world.tables.growth().let_grow(1));
  EXPECT_FALSE(world.tables.growth().is_short());
}

TEST(TickTime, ManualTimeIsThatOfTheLastTickAndBoundsEvents) {
  TablesWorld world;
  EXPECT_EQ(world.tables.time().base_us(), std::nullopt);
  EXPECT_EQ(world.tables.time().step_base_us(), world.executor.now_us());
  EXPECT_EQ(world.tables.time().event_max_us(), std::numeric_limits<std::int64_t>::max());
}

TEST(TickTime, WallClockTimeIsNeverBeforeTheLastTick) {
  ManualExecutor executor;
  Processor processor(ProcessorOptions(), make_engine());
  TickTime time({.is_manual = false,
                 .future_max_us = 50,
                 .boot_now_us = [&] { return executor.now_us(); },
                 .wall_now_us = [&] { return executor.now_us() + 7'000'000; }},
                processor);
  const auto first = time.base_us();
  EXPECT_EQ(first, executor.now_us() + 7'000'000);
  executor.advance(10);
  EXPECT_EQ(time.base_us(), *first + 10);
  EXPECT_EQ(time.event_max_us(), *first + 60);
  EXPECT_EQ(time.clock_steps(), 0u);
}

}  // namespace
}  // namespace starling::stream
