// SPDX-License-Identifier: Apache-2.0
// Tests when ticks begin, in which order they end, and what their messages wait for, on a clock of
// the test's own and an engine that finishes a tick when the test says so.
#include "starling/stream/publishing/ticker.hpp"

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "starling/stream/operation/options.hpp"
#include "tests/stream/support/held_engine.hpp"
#include "tests/stream/support/log_world.hpp"

namespace starling::stream {
namespace {

using testing::ElementsAre;

class CountedResults final : public Results {
 public:
  void send(std::span<protocol::TickMessage> messages, std::size_t /*of_tick*/) override {
    count += messages.size();
  }
  std::uint64_t subscriber_count(std::string_view /*topic*/) const override { return 0; }
  std::size_t count = 0;
};

/// A ticker and its tables, which have one stream, on the executor and the disk of a LogWorld.
class TickerWorld {
 public:
  /// `period_us` is 0 for ticks on request only.
  explicit TickerWorld(std::int64_t period_us, bool has_log = false,
                       std::uint64_t tail_bytes_max = JournalOptions{}.tail_bytes_max)
      : journal(has_log ? start(tail_bytes_max) : nullptr),
        metrics_(options_),
        tables(log.executor, ProcessorOptions(), std::make_unique<HeldEngine>(engine),
               {.memory = {},
                .names = {},
                .time = {.is_manual = period_us == 0,
                         .future_max_us = {},
                         .boot_now_us = [this] { return log.executor.now_us(); },
                         .wall_now_us = [this] { return log.executor.now_us(); },
                         .clock_step_wait_us = 60'000'000},
                .updates = {.threads = 1,
                            .has_log = journal != nullptr,
                            .applied = [](const auto&) {}},
                .has_room_again = [] {}}),
        ticker(log.executor,
               {.period_us = period_us == 0 ? std::nullopt : std::optional(period_us),
                .tau_step_max_us = 1'000'000,
                .encode_threads = 1,
                .journal = journal},
               tables, publisher_, results, metrics_, nullptr) {
    tables.processor().put_stream({.name = "near"});
    publisher_.open(*tables.processor().queries().find_stream("near"));
  }

  void advance(std::int64_t duration_us) {
    log.executor.advance(duration_us);
    log.executor.run();
  }
  /// Makes the engine finish its oldest tick, and runs the loop, which takes the result.
  void finish() {
    ASSERT_TRUE(engine->finish());
    log.executor.run();
  }
  Ticker::Begun begin(std::int64_t tau_us) {
    return ticker.advance(tau_us, {}, [this, tau_us](const TickOutcome& outcome) {
      ended.emplace_back(tau_us, outcome.error);
    });
  }
  double metric(std::string_view name) {
    for (const Sample& sample : metrics_.samples({}))
      if (sample.name == name) return sample.value;
    ADD_FAILURE() << "no metric " << name;
    return 0;
  }
  double overruns() { return metric("starling_tick_overruns_total"); }
  Journal* start(std::uint64_t tail_bytes_max) {
    log.options.tail_bytes_max = tail_bytes_max;
    return &log.start();
  }

  LogWorld log;
  Journal* journal;  ///< null: there is no log
  std::shared_ptr<HeldEngine::Control> engine = std::make_shared<HeldEngine::Control>();
  CountedResults results;
  /// tau and error of each tick on request that has ended.
  std::vector<std::pair<std::int64_t, std::string>> ended;

 private:
  ServerOptions options_;
  Metrics metrics_;
  Publisher publisher_{7, Space::planar2};

 public:
  Tables tables;
  Ticker ticker;
};

using Begun = Ticker::Begun;
constexpr std::int64_t period_us = 100'000;

TEST(Ticker, BeginsOneTickEachPeriodAndSendsOneMessageForEachStream) {
  TickerWorld world(period_us);
  world.ticker.start();
  world.advance(period_us - 1);
  EXPECT_EQ(world.engine->begun, 0);
  world.advance(1);
  EXPECT_EQ(world.engine->begun, 1);
  world.finish();
  EXPECT_EQ(world.results.count, 1u);
  world.advance(period_us);
  EXPECT_EQ(world.engine->begun, 2);
  EXPECT_EQ(world.overruns(), 0);
}

TEST(Ticker, WithManualTicksTheClockBeginsNone) {
  TickerWorld world(0);
  world.ticker.start();
  world.advance(10 * period_us);
  EXPECT_EQ(world.engine->begun, 0);
}

TEST(Ticker, ATickThatIsDueWhileAnotherIsUnderWayIsSkippedAndCounted) {
  TickerWorld world(period_us);
  world.ticker.start();
  world.advance(period_us);
  world.advance(period_us);
  world.advance(period_us);
  EXPECT_EQ(world.engine->begun, 1);
  EXPECT_EQ(world.overruns(), 2);
  world.finish();
  world.advance(period_us);
  EXPECT_EQ(world.engine->begun, 2);
  EXPECT_EQ(world.overruns(), 2);
}

TEST(Ticker, TicksEndInTheOrderInWhichTheyBegan) {
  TickerWorld world(0, true);
  world.engine->room = 8;
  ASSERT_EQ(world.begin(10), Begun::begun);
  ASSERT_EQ(world.begin(20), Begun::begun);
  world.finish();
  world.finish();
  EXPECT_TRUE(world.ended.empty()) << "both wait for the log";
  world.log.commit_all();
  EXPECT_THAT(world.ended,
              ElementsAre(std::pair(std::int64_t{10}, ""), std::pair(std::int64_t{20}, "")));
}

TEST(Ticker, FurtherTicksAreRefusedWhileFourHaveBegunAndAreNotSent) {
  TickerWorld world(0, true);
  world.engine->room = 8;
  for (std::int64_t tau_us = 1; tau_us <= 4; ++tau_us) EXPECT_EQ(world.begin(tau_us), Begun::begun);
  EXPECT_EQ(world.begin(5), Begun::busy);
  world.finish();
  EXPECT_EQ(world.begin(5), Begun::busy) << "its message waits for the log";
  world.log.commit_all();
  EXPECT_EQ(world.begin(5), Begun::begun);
}

TEST(Ticker, ARequestedTickMustNotGoBackNorTooFarAhead) {
  TickerWorld world(0);
  const std::int64_t now_us = world.log.executor.now_us();
  EXPECT_EQ(world.begin(now_us + 1'000'001), Begun::tau_too_late) << "the first, from the clock";
  ASSERT_EQ(world.begin(now_us), Begun::begun);
  world.finish();
  EXPECT_EQ(world.begin(now_us - 1), Begun::tau_too_early);
  EXPECT_EQ(world.begin(now_us + 1'000'001), Begun::tau_too_late);
  EXPECT_EQ(world.begin(now_us + 1'000'000), Begun::begun);
}

TEST(Ticker, AFailedTickIsToldToItsCallerAndKeptUntilOneSucceeds) {
  TickerWorld world(0);
  ASSERT_EQ(world.begin(1), Begun::begun);
  world.engine->error = "no memory";
  world.finish();
  EXPECT_EQ(world.ended.back().second, "no memory");
  EXPECT_EQ(world.ticker.last_error(), "no memory");
  EXPECT_EQ(world.metric("starling_ticks_failed_total"), 1);
  ASSERT_EQ(world.begin(2), Begun::begun);
  world.engine->error.clear();
  world.finish();
  EXPECT_EQ(world.ticker.last_error(), "");
}

TEST(Ticker, ALostEngineEndsTheLoop) {
  TickerWorld world(0);
  ASSERT_EQ(world.begin(1), Begun::begun);
  world.engine->error = "the device fell off the bus";
  world.engine->is_engine_lost = true;
  ASSERT_TRUE(world.engine->finish());
  EXPECT_THROW(world.log.executor.run(), std::runtime_error);
}

TEST(Ticker, AStopWaitsForTheTicksUnderWayAndBeginsNone) {
  TickerWorld world(period_us, true);
  world.ticker.start();
  world.advance(period_us);
  bool is_idle = false;
  world.ticker.stop([&] { is_idle = true; });
  EXPECT_FALSE(is_idle);
  world.advance(5 * period_us);
  EXPECT_EQ(world.engine->begun, 1);
  world.finish();
  EXPECT_FALSE(is_idle) << "its message waits for the log";
  world.log.commit_all();
  EXPECT_TRUE(is_idle);
  EXPECT_EQ(world.results.count, 1u);
  EXPECT_EQ(world.begin(10 * period_us), Begun::busy);
}

TEST(Ticker, AStopOfAnIdleTickerEndsAtOnce) {
  TickerWorld world(0);
  bool is_idle = false;
  world.ticker.stop([&] { is_idle = true; });
  EXPECT_TRUE(is_idle);
}

TEST(Ticker, MessagesWaitUntilTheMarkOfTheirTickIsOnTheDisk) {
  TickerWorld world(0, true);
  world.log.commit_all();
  ASSERT_EQ(world.begin(1), Begun::begun);
  world.finish();
  EXPECT_EQ(world.results.count, 0u);
  EXPECT_EQ(world.ticker.publishing_count(), 1u);
  world.log.commit();
  EXPECT_EQ(world.results.count, 1u);
  EXPECT_EQ(world.ticker.publishing_count(), 0u);
}

TEST(Ticker, TheLogGetsEachTickItsEndAndItsHash) {
  TickerWorld world(0, true);
  ASSERT_EQ(world.begin(41), Begun::begun);
  world.finish();
  world.log.commit();
  world.log.commit_all();
  world.log.start();
  std::vector<std::string> kinds;
  for (const JournalRecord& record : world.log.recovered) {
    if (const auto* const begun = std::get_if<TickBegunRecord>(&record))
      kinds.push_back("begun at " + std::to_string(begun->tau_us));
    if (std::holds_alternative<TickFinishedRecord>(record)) kinds.emplace_back("finished");
    if (const auto* const published = std::get_if<PublishedRecord>(&record))
      kinds.push_back("published " + std::to_string(published->messages));
  }
  EXPECT_THAT(kinds, ElementsAre("begun at 41", "finished", "published 1"));
}

TEST(Ticker, WhileTheLogsDiskIsFullNoTickBeginsAndNoneCountsAsSkipped) {
  TickerWorld world(period_us, true);
  world.log.commit_all();
  world.ticker.start();
  world.log.disk.files.set_space(0);
  for (int record = 0; record < 200; ++record)
    world.journal->append(PrincipalRecord{7, std::string(100, 'x')});
  world.log.commit_all();
  ASSERT_TRUE(world.journal->commits().is_full());
  world.advance(period_us);
  world.advance(period_us);
  EXPECT_EQ(world.engine->begun, 0);
  EXPECT_EQ(world.overruns(), 0);
  world.log.disk.files.set_space(UINT64_MAX);
  world.log.commit_all();
  world.advance(period_us);
  EXPECT_EQ(world.engine->begun, 1);
}

TEST(Ticker, ATickBeginsAloneWhenASnapshotOfTheLogIsDue) {
  TickerWorld world(0, true, 100);
  world.engine->room = 8;
  std::uint64_t made_at = 0;
  world.journal->make_snapshots_with([&](std::uint64_t place) { made_at = place; });
  ASSERT_EQ(world.begin(1), Begun::begun);
  world.journal->append(PrincipalRecord{7, std::string(200, 'x')});
  EXPECT_EQ(world.begin(2), Begun::busy);
  world.finish();
  world.log.commit_all();
  EXPECT_NE(made_at, 0u);
  EXPECT_EQ(world.begin(2), Begun::begun);
}

}  // namespace
}  // namespace starling::stream
