// SPDX-License-Identifier: Apache-2.0
// Tests LogRun. A log that runs again publishes the bytes that the server published, also with
// failed ticks, from any tick and until any tick. It can also go to the state at any tick.
#include "starling/stream/recovery/log_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/knn/engine/forwarding_engine.hpp"
#include "starling/log/system_files.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"
#include "tests/stream/journal/journal_world.hpp"

namespace starling::stream {
namespace {

LogRunCounts run(const std::string& folder, const LogSpan& span = {}) {
  const auto files = log::open_folder(folder, log::FolderUse::read);
  return LogRun(*files, {.make_engine = engine_for}).run(span, [](const RanTick&) { return true; });
}

class LogOfAScript : public testing::TestWithParam<std::uint64_t> {
 protected:
  LogOfAScript() {
    JournalScript script(GetParam(), folder_.path());
    script.run(120, 31);
  }
  JournalFolder folder_;
};

TEST_P(LogOfAScript, PublishesTheSameBytesWhenItRunsAgain) {
  const LogRunCounts all = run(folder_.path());
  EXPECT_GT(all.equal, 20u);
  EXPECT_EQ(all.different, 0u);
  EXPECT_EQ(all.equal + all.unhashed, all.ticks + all.failed_ticks);
  // The server may have been stopped before it logged the hash of its last tick.
  EXPECT_LE(all.unhashed, 5u);
}

TEST_P(LogOfAScript, PublishesThemFromAndUntilAnyTick) {
  std::vector<std::int64_t> taus;
  const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
  LogRun(*files, {.make_engine = engine_for}).run({}, [&](const RanTick& tick) {
    taus.push_back(tick.report.tau_us);
    return true;
  });
  ASSERT_GT(taus.size(), 8u);
  for (std::size_t first = 0; first < taus.size(); first += 5)
    for (std::size_t last = first; last < taus.size(); last += 7) {
      const LogRunCounts part = run(folder_.path(), {taus[first], taus[last]});
      EXPECT_EQ(part.different, 0u) << "from " << taus[first] << " until " << taus[last];
      EXPECT_GE(part.ticks + part.failed_ticks, last - first + 1);
      EXPECT_EQ(part.first_us, taus[first]);
      EXPECT_EQ(part.last_us, taus[last]);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LogOfAScript, testing::Values(21, 22));

/// A server whose one object moves by a metre each tick, from 1 m at tick 1 on.
class LogOfAMovingObject : public testing::Test {
 protected:
  static constexpr int ticks = 20;

  LogOfAMovingObject() {
    ServerOptions options = journal_options(folder_.path());
    options.journal.segment_bytes = 4096;
    RunningServer server(options);
    auto client = server.client();
    for (int tick = 1; tick <= ticks; ++tick) {
      Fixes fixes;
      fixes.add(7, tick * 1000, tick, 0);
      for (std::uint64_t id = 100; id < 150; ++id) fixes.add(id, tick * 1000, 5000, 0);
      EXPECT_TRUE(client.update(fixes.batch()));
      EXPECT_TRUE(client.advance_tick(tick * 1000));
    }
  }

  /// Returns how far the object was from 0, in metres; -1: no tick has finished.
  double distance_at(std::int64_t tau_us) const {
    const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
    LogRun log(*files, {.make_engine = engine_for});
    if (!log.go_to(tau_us)) return -1;
    OneShotQuery nearest;
    const Answers answers = log.tables().ask({nearest});
    return log.tables().processor().to_distance(answers.neighbors.at(0).key);
  }

  JournalFolder folder_;
};

TEST_F(LogOfAMovingObject, AnswersFromAnyTick) {
  EXPECT_EQ(distance_at(999), -1);
  for (int tick = 1; tick <= ticks; ++tick) {
    EXPECT_EQ(distance_at(tick * 1000), tick);
    EXPECT_EQ(distance_at(tick * 1000 + 999), tick);
  }
  EXPECT_EQ(distance_at(1'000'000'000), ticks);
}

TEST_F(LogOfAMovingObject, HasTheObjectsOfEachTickWhenItIsFollowedAgainToo) {
  const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
  LogRun log(*files, {.make_engine = engine_for});
  EXPECT_THAT(log.taus({3000, 5000}), testing::ElementsAre(3000, 4000, 5000));
  for (const int last : {ticks, 5}) {
    std::vector<double> found;
    log.follow([&](const JournalRecord& applied) {
      if (!std::holds_alternative<TickBegunRecord>(applied)) return true;
      const ObjectTable& table = log.tables().processor().objects();
      EXPECT_EQ(table.alive_count(), 51u);
      const LiveObject object = table.object_at(table.find(ObjectId{7}));
      found.push_back(Lattice(log.space()).to_position(object.position)[0]);
      return found.size() < static_cast<std::size_t>(last);
    });
    ASSERT_EQ(found.size(), static_cast<std::size_t>(last));
    for (int tick = 1; tick <= last; ++tick)
      EXPECT_EQ(found[static_cast<std::size_t>(tick) - 1], tick);
  }
}

TEST_F(LogOfAMovingObject, IsReadNoFurtherThanItIsAskedFor) {
  const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
  LogRun log(*files, {.make_engine = engine_for, .until_us = 5500});
  EXPECT_EQ(log.taus({}).back(), 5000);
  EXPECT_TRUE(log.go_to(5500));
  EXPECT_EQ(log.tables().processor().last_tick(), Tick{5});
}

TEST_F(LogOfAMovingObject, IsReadUntilTheReadingIsCancelled) {
  const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
  int groups = 0;
  EXPECT_THROW(
      LogRun(*files, {.make_engine = engine_for, .is_cancelled = [&] { return ++groups == 3; }}),
      LogRunCancelled);
  EXPECT_EQ(groups, 3);
}

/// Makes snapshots after ticks 20 and 23, and keeps them.
TEST_F(LogOfAMovingObject, RunsFromAnyTickAlsoFromTheLastOneOfASnapshotThatIsKept) {
  const auto snapshot = [&] {
    const auto files = log::open_folder(folder_.path(), log::FolderUse::write);
    ASSERT_TRUE(make_snapshot(
        {.files = *files, .make_engine = engine_for, .created_us = 1, .keep_us = 1000}));
  };
  snapshot();
  {
    RunningServer server(journal_options(folder_.path()));
    auto client = server.client();
    for (int tick = ticks + 1; tick <= ticks + 3; ++tick)
      ASSERT_TRUE(client.advance_tick(tick * 1000));
  }
  snapshot();
  for (int from = 1; from <= ticks + 3; ++from) {
    const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
    const std::int64_t from_us = from * 1000;
    LogRun log(*files, {.make_engine = engine_for, .from_us = from_us});
    const auto counts = log.run({.from_us = from_us}, [](const RanTick&) { return true; });
    EXPECT_EQ(counts.first_us, from_us);
    EXPECT_EQ(counts.ticks, static_cast<std::uint64_t>(ticks + 3 - from + 1));
    EXPECT_EQ(counts.different, 0u);
  }
}

TEST_F(LogOfAMovingObject, AnswersFromTheSnapshotOnWhenItHasOne) {
  {
    const auto files = log::open_folder(folder_.path(), log::FolderUse::write);
    ASSERT_TRUE(make_snapshot({.files = *files, .make_engine = engine_for}));
  }
  EXPECT_EQ(distance_at(5000), -1) << "what the snapshot stands for is gone";
  EXPECT_EQ(distance_at(ticks * 1000), ticks);
}

/// An engine that counts one object too many in the tick `wrong`.
class WrongEngine final : public ForwardingEngine {
 public:
  WrongEngine(std::unique_ptr<Engine> engine, Tick wrong)
      : ForwardingEngine(std::move(engine)), wrong_(wrong) {}
  void set_result_handler(ResultHandler handler) override {
    ForwardingEngine::set_result_handler(
        [wrong = wrong_, handler = std::move(handler)](std::unique_ptr<TickResult> result) {
          if (result->tick == wrong) ++result->objects;
          handler(std::move(result));
        });
  }

 private:
  Tick wrong_;
};

TEST_F(LogOfAMovingObject, NamesTheTickWhoseBytesDiffer) {
  {  // without a stream, no tick has messages
    RunningServer server(journal_options(folder_.path()));
    auto client = server.client();
    ASSERT_TRUE(client.put_stream({.name = "s"}));
    for (int tick = ticks + 1; tick <= ticks + 3; ++tick)
      ASSERT_TRUE(client.advance_tick(tick * 1000));
  }
  const auto files = log::open_folder(folder_.path(), log::FolderUse::read);
  const auto wrong = [](const SpaceOptions& space) {
    return std::make_unique<WrongEngine>(make_engine(space), Tick{ticks + 2});
  };
  const LogRunCounts counts =
      LogRun(*files, {.make_engine = wrong}).run({}, [](const RanTick&) { return true; });
  EXPECT_EQ(counts.different, 1u);
  EXPECT_EQ(counts.first_different, Tick{ticks + 2});
}

}  // namespace
}  // namespace starling::stream
