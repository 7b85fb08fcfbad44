// SPDX-License-Identifier: Apache-2.0
// Tests snapshots of a server's log. A server that starts from a snapshot holds the same state as
// before, also state that only shows later. Old files are removed, and nothing is lost if a
// snapshot cannot be made.
#include "starling/log/snapshot.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/log/system_files.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/support/ahead_engine.hpp"

namespace starling::stream {
namespace {

std::optional<SnapshotMade> snapshot_of(const std::string& folder) {
  const auto files = log::open_folder(folder, log::FolderUse::write);
  return make_snapshot({.files = *files, .make_engine = engine_for});
}

std::size_t snapshots_in(const std::string& folder) {
  return log::snapshot_names(*log::open_folder(folder, log::FolderUse::read)).size();
}

std::string refusal_of(const ServerOptions& options) {
  try {
    const Server server(options, make_engine(options.processor.space));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "the server starts";
}

class ScriptsWithSnapshots : public testing::TestWithParam<std::tuple<std::uint64_t, Snapshots>> {};

TEST_P(ScriptsWithSnapshots, ARestartedServerSaysTheSameAsOneThatNeverStopped) {
  constexpr int steps = 100;
  const auto [seed, snapshots] = GetParam();
  const std::vector<std::string> expected = JournalScript(seed, std::nullopt).run(steps, 0);
  const JournalFolder folder;
  JournalScript script(seed, folder.path(), snapshots);
  const std::vector<std::string> said = script.run(steps, 7);
  // Beside the server, snapshots have the lowest priority, and a restart cancels them.
  if (snapshots == Snapshots::between_two_servers) {
    EXPECT_GE(script.snapshots(), 5u);
  }
  EXPECT_TRUE(happens([&] { return snapshots_in(folder.path()) == 1u; }))
      << "none is made, or older ones are not removed";
  ASSERT_EQ(said.size(), expected.size());
  for (std::size_t i = 0; i < said.size(); ++i)
    ASSERT_EQ(said[i], expected[i]) << "line " << i << " of seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScriptsWithSnapshots,
                         testing::Combine(testing::Values(11, 12),
                                          testing::Values(Snapshots::beside_server,
                                                          Snapshots::between_two_servers)));

/// A folder with the log of a server that has objects and has ticked.
class LogWithObjects : public testing::Test {
 protected:
  static constexpr std::uint64_t objects = 2000;

  void SetUp() override { run_server(1); }

  ServerOptions options() const { return journal_options(folder_.path()); }

  void run_server(std::int64_t tau_us) const {
    RunningServer server(options());
    auto client = server.client();
    Fixes fixes;
    for (std::uint64_t id = 0; id < objects; ++id) fixes.add(id, tau_us, double(id), 0);
    ASSERT_EQ(client.update(fixes.batch()).value().accepted, objects);
    ASSERT_TRUE(client.advance_tick(tau_us));
  }

  JournalFolder folder_;
};

TEST_F(LogWithObjects, ASnapshotStandsForAllOldFilesAndASecondOneIsNotNeeded) {
  run_server(2);
  ASSERT_GT(folder_.files().size(), 2u);
  const auto made = snapshot_of(folder_.path());
  ASSERT_TRUE(made);
  EXPECT_GT(made->dropped_files, 0u);
  EXPECT_EQ(folder_.files().size(), 1u) << "the newest segment stays";
  EXPECT_FALSE(snapshot_of(folder_.path()));
  RunningServer server(options());
  EXPECT_EQ(server.stat("starling_objects"), double(objects));
  auto client = server.client();
  EXPECT_EQ(client.get_neighbors({{nearest_to(0, 1, 0, 0)}}).value().tick, Tick{2});
}

TEST_F(LogWithObjects, ADamagedSnapshotIsNamedAndNothingIsChanged) {
  const std::string name = snapshot_of(folder_.path())->snapshot.file;
  const auto path = std::filesystem::path(folder_.path()) / name;
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  ASSERT_GT(bytes.size(), 1000u);
  for (std::size_t place = 40; place < bytes.size(); place += bytes.size() / 23) {
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_THAT(refusal_of(options()), testing::HasSubstr(name)) << "byte " << place;
  }
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 200);
  EXPECT_THAT(refusal_of(options()), testing::HasSubstr(name));
  std::ofstream(path, std::ios::binary) << bytes;
  RunningServer server(options());
  EXPECT_EQ(server.stat("starling_objects"), double(objects));
}

TEST_F(LogWithObjects, AFileThatIsMissingBehindTheSnapshotIsNamed) {
  snapshot_of(folder_.path());
  run_server(5);
  ASSERT_GT(folder_.files().size(), 1u);
  const auto first = folder_.files().front();
  std::filesystem::remove(first);
  EXPECT_THAT(refusal_of(options()), testing::HasSubstr(" is missing"));
}

TEST_F(LogWithObjects, ASnapshotThatIsTooLargeForTheLimitsIsRefused) {
  snapshot_of(folder_.path());
  ServerOptions small = options();
  small.processor.objects.objects_max = objects / 2;
  EXPECT_THAT(refusal_of(small), testing::HasSubstr("--objects-max"));
  EXPECT_EQ(refusal_of(options()), "the server starts");
}

TEST_F(LogWithObjects, ACancelledSnapshotLeavesTheLogAsItWas) {
  const auto before = folder_.files();
  const auto files = log::open_folder(folder_.path(), log::FolderUse::write);
  for (int calls = 0;; ++calls) {
    int left = calls;
    SnapshotTask task{.files = *files, .make_engine = engine_for};
    task.is_cancelled = [&] { return left-- == 0; };
    try {
      EXPECT_TRUE(make_snapshot(task));
      EXPECT_GT(calls, 3);
      return;
    } catch (const SnapshotCancelled&) {
      EXPECT_EQ(folder_.files(), before);
      EXPECT_TRUE(log::snapshot_names(*files).empty());
    }
  }
}

class SnapshotOfASpace : public testing::TestWithParam<SpaceOptions> {};

TEST_P(SnapshotOfASpace, StartsAServerOfThatSpace) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.processor.space = GetParam();
  const std::vector<double> coordinates{1, 2, 3, 4, 5, 6};
  const std::vector<float> components{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint64_t> ids{4, 9};
  const std::vector<std::int64_t> times_us{10, 20};
  {
    RunningServer server(options);
    auto client = server.client();
    protocol::UpdateBatch batch{.ids = ids, .times_us = times_us, .components = 3};
    if (GetParam().is_vector()) {
      batch.coordinates_f32 = components;
      batch.dimension = 3;
    } else {
      batch.coordinates = coordinates;
    }
    ASSERT_EQ(client.update(batch).value().accepted, 2u);
    ASSERT_TRUE(client.advance_tick(100));
  }
  ASSERT_TRUE(snapshot_of(folder.path()));
  RunningServer server(options);
  EXPECT_EQ(server.stat("starling_objects"), 2);
}

INSTANTIATE_TEST_SUITE_P(Spaces, SnapshotOfASpace,
                         testing::Values(SpaceOptions{.space = Space::planar3, .resolution_m = 0.5},
                                         SpaceOptions{.space = Space::planar3, .origin = {7, 8, 9}},
                                         SpaceOptions{.space = Space::wgs84},
                                         SpaceOptions{.space = Space::vector,
                                                      .dimension = 3,
                                                      .metric = Metric::cosine}));

TEST(Snapshot, KeepsSessionsWithTheirReplies) {
  const JournalFolder folder;
  Fixes fixes;
  fixes.add(1, 1000, 0, 0);
  const auto update = [&](RawPeer& peer, std::uint64_t session) {
    return std::get<protocol::BatchReply>(
        peer.ask(encoded({.request_id = 7, .session = session, .sequence = 1}, fixes.batch()))
            ->decoded.body);
  };
  std::uint64_t session = 0;
  std::optional<protocol::BatchReply> first;
  {
    RunningServer server(journal_options(folder.path()));
    RawPeer peer(server.context(), server.endpoints().commands);
    session = peer.hello();
    first = update(peer, session);
  }
  for (int snapshots = 0; snapshots < 2; ++snapshots) {
    ASSERT_TRUE(snapshot_of(folder.path()));
    RunningServer server(journal_options(folder.path()));
    RawPeer peer(server.context(), server.endpoints().commands);
    const auto resumed = peer.ask(
        encoded({.request_id = 1}, protocol::Hello{.client = "test", .resume_session = session}));
    ASSERT_TRUE(std::get<protocol::HelloReply>(resumed->decoded.body).resumed);
    EXPECT_EQ(update(peer, session), *first);
    peer.hello();  // adds a record, so that there is something for the next snapshot
  }
}

TEST(Snapshot, AfterFailedTicksHasNoObjectThatTheTableHasForgotten) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.journal.make_engine = engine_for;
  options.processor.objects.tombstone_ttl_us = 100;
  const auto shared = std::make_shared<test::AheadEngine::Shared>();
  shared->failing = {Tick{2}, Tick{3}};
  {
    RunningServer server(options, std::make_unique<test::AheadEngine>(make_engine(), shared));
    auto client = server.client();
    Fixes fixes;
    fixes.add(1, 100, 0, 0);
    ASSERT_EQ(client.update(fixes.batch()).value().accepted, 1u);
    ASSERT_TRUE(client.advance_tick(1000));
    ASSERT_TRUE(client.remove_objects({.ids = fixes.ids, .times_us = fixes.times_us}));
    EXPECT_FALSE(client.advance_tick(2000));
    EXPECT_FALSE(client.advance_tick(3000)) << "the tombstone has ended";
  }
  ASSERT_TRUE(snapshot_of(folder.path()));
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(client.advance_tick(4000));
  for (const std::optional<std::int64_t> at_us : {std::optional<std::int64_t>(), {4000}}) {
    const auto answers =
        client.get_neighbors({.questions = {nearest_to(0, 1, 0, 0)}, .at_us = at_us});
    ASSERT_TRUE(answers) << answers.problem().sentence;
    EXPECT_EQ(answers->tick, Tick{4});
    EXPECT_TRUE(answers->lists.front().neighbors.empty());
  }
}

/// A disk on which no snapshot can be begun.
class NoSnapshots final : public log::Files {
 public:
  explicit NoSnapshots(const std::string& folder)
      : files_(log::open_folder(folder, log::FolderUse::write)) {}
  std::vector<std::string> list() const override { return files_->list(); }
  std::unique_ptr<log::File> open(std::string_view name) override { return files_->open(name); }
  std::unique_ptr<log::File> create(std::string_view name, std::uint64_t bytes) override {
    if (name == log::unfinished_snapshot_name && --refusals >= 0)
      throw log::NoSpace("no room for a snapshot");
    return files_->create(name, bytes);
  }
  void rename(std::string_view from, std::string_view to) override { files_->rename(from, to); }
  void remove(std::string_view name) override { files_->remove(name); }
  std::string birth_of(std::string_view name) const override { return files_->birth_of(name); }
  void sync_folder() override { files_->sync_folder(); }
  std::uint64_t free_bytes() const override { return files_->free_bytes(); }

  static inline std::atomic<int> refusals{0};

 private:
  std::unique_ptr<log::Files> files_;
};

TEST(Snapshot, AServerThatCannotMakeOneGoesOnAndTriesAgain) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.journal.make_engine = engine_for;
  options.journal.tail_bytes_max = 1000;
  options.journal.retry_us = 20'000;
  options.journal.open = [](const std::string& path, log::FolderUse) {
    return std::make_unique<NoSnapshots>(path);
  };
  NoSnapshots::refusals = 2;
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(happens([&] {
    Fixes fixes;
    for (std::uint64_t id = 0; id < 20; ++id) fixes.add(id, 1, 0, 0);
    EXPECT_EQ(client.update(fixes.batch()).value().accepted, 20u);
    return snapshots_in(folder.path()) == 1;
  }));
  EXPECT_LE(NoSnapshots::refusals, 0);
}

TEST(Snapshot, AnOldLogGetsOneThoughItIsSmall) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.journal.make_engine = engine_for;
  options.journal.tail_age_max_us = 50'000;
  RunningServer server(options);
  auto client = server.client();
  ASSERT_TRUE(happens([&] {
    Fixes fixes;
    fixes.add(1, 1, 0, 0);
    EXPECT_EQ(client.update(fixes.batch()).value().accepted, 1u);
    return snapshots_in(folder.path()) == 1;
  }));
}

TEST(Snapshot, TheAgeOfTheLogGoesOnWhileNoServerRuns) {
  const JournalFolder folder;
  constexpr std::int64_t hour_us = 3'600'000'000;
  std::atomic<std::int64_t> wall_us = hour_us;
  ServerOptions options = journal_options(folder.path());
  options.journal.make_engine = engine_for;
  options.wall_now_us = [&] { return wall_us.load(); };
  const auto age_s = [](RunningServer& server) {
    return server.stat("starling_journal_tail_age_seconds");
  };
  for (int start = 0; start < 3; ++start) {
    RunningServer server(options);
    auto client = server.client();
    Fixes fixes;
    fixes.add(1, start + 1, 0, 0);
    ASSERT_EQ(client.update(fixes.batch()).value().accepted, 1u);
    if (start < 2)
      EXPECT_NEAR(age_s(server), 2000.0 * start, 20);
    else  // the snapshot is more than an hour old
      EXPECT_TRUE(happens([&] { return age_s(server) < 20 && snapshots_in(folder.path()) == 1; }));
    wall_us += 2'000'000'000;
  }
}

TEST(Snapshot, OldOnesStayAsLongAsTheLogIsKept) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  options.journal.segment_bytes = 4096;
  std::int64_t tick = 0;
  // Snapshots are made at 10 s, 20 s, ...; the log should reach back 25 s.
  for (std::int64_t part = 1; part <= 5; ++part) {
    {
      RunningServer server(options);
      auto client = server.client();
      for (const std::int64_t last = tick + 12; tick < last;) {
        Fixes fixes;
        for (std::uint64_t id = 0; id < 10; ++id) fixes.add(id, tick, double(tick), 0);
        ASSERT_TRUE(client.update(fixes.batch()));
        ASSERT_TRUE(client.advance_tick(++tick));
      }
    }
    const auto files = log::open_folder(folder.path(), log::FolderUse::write);
    ASSERT_TRUE(make_snapshot({.files = *files,
                               .make_engine = engine_for,
                               .created_us = part * 10'000'000,
                               .keep_us = 25'000'000}));
  }
  const auto files = log::open_folder(folder.path(), log::FolderUse::read);
  const auto kept = log::snapshots(*files);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept.front().created_us, 20'000'000) << "the last one before the last 25 s";
  EXPECT_FALSE(log::has_first_record(*files));
  EXPECT_TRUE(log::check_log(*files, log::range_behind(kept.front())).damage.empty());
}

}  // namespace
}  // namespace starling::stream
