// SPDX-License-Identifier: Apache-2.0
// Tests what a server does if the disk of its log is damaged, full, slow or broken.
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/tick_message.hpp"
#include "tests/stream/journal/ending_peer.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;

std::string all_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void put_objects(protocol::Client& client, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t id = first; id < first + count; ++id) {
    Fixes fixes;
    fixes.add(id, 1, static_cast<double>(id), 0);
    ASSERT_EQ(client.update(fixes.batch()).value().accepted, 1u);
  }
}

/// Runs a server until it has acknowledged 20 objects.
void write_log(const ServerOptions& options) {
  const RunningServer server(options);
  auto client = server.client();
  put_objects(client, 0, 20);
}

TEST(DamagedLogs, AreRefusedByFileAndOffsetAndNothingIsTouched) {
  const JournalFolder folder;
  const ServerOptions options = journal_options(folder.path());
  write_log(options);
  const auto path = folder.files().front();
  std::string bytes = all_of(path);
  constexpr std::size_t at = 1200;  // in one of the first groups
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write_all(path, bytes);
  try {
    Server(options, make_engine());
    FAIL() << "the damage is not noticed";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(path.filename().string()));
    EXPECT_THAT(error.what(), testing::HasSubstr("Nothing was changed"));
  }
  EXPECT_EQ(all_of(path), bytes);
}

TEST(DamagedLogs, ATornTailIsCutAndTheRestIsKept) {
  const JournalFolder folder;
  const ServerOptions options = journal_options(folder.path());
  write_log(options);
  const auto path = folder.files().back();
  std::string bytes = all_of(path);
  const std::size_t end = bytes.find_last_not_of('\0');
  bytes[end] = static_cast<char>(bytes[end] ^ 1);
  write_all(path, bytes);
  RunningServer server(options);
  EXPECT_GE(server.stat("starling_objects"), 19);
}

/// Blocks the syncs of a disk while it is held.
class HeldSyncs {
 public:
  explicit HeldSyncs(log::SimulatedFiles& files) {
    files.on_sync = [this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !is_held_; });
    };
  }
  void hold() { set(true); }
  void let_go() { set(false); }

 private:
  void set(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
};

/// Runs a server on a simulated disk, and keeps what run() throws.
class DiskFaults : public testing::Test {
 protected:
  void start(ServerOptions options) {
    server = std::make_unique<Server>(options, make_engine());
    thread = std::thread([this] {
      try {
        server->run();
      } catch (const std::exception& error) {
        failure = error.what();
      }
    });
  }
  void TearDown() override { stop(); }
  void stop() {
    if (!thread.joinable()) return;
    server->stop();
    thread.join();
    server.reset();
  }
  protocol::Client client(std::int64_t timeout_ms = 30'000) {
    return protocol::Client(context, {.commands = server->endpoints().commands,
                                      .name = "test",
                                      .timeout_ms = timeout_ms,
                                      .reconnect_after_ms = 500});
  }
  ServerOptions options() { return journal_options(disk); }

  std::shared_ptr<TestDisk> disk = std::make_shared<TestDisk>();
  log::SimulatedFiles* files = &disk->files;
  HeldSyncs syncs{*files};
  zmq::context_t context;
  std::unique_ptr<Server> server;
  std::thread thread;
  std::string failure;
};

TEST_F(DiskFaults, AFullDiskRefusesChangesAnswersQuestionsAndGoesOnWhenThereIsRoom) {
  start(options());
  RawPeer peer(context, server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  std::uint64_t sequence = 0;
  const auto send = [&](std::uint64_t next) {
    Fixes fixes;
    for (std::uint64_t id = 0; id < 20; ++id) fixes.add(next * 20 + id, 1, 0, 0);
    peer.send(
        encoded({.request_id = 1000 + next, .session = session, .sequence = next}, fixes.batch()));
  };
  ASSERT_TRUE(peer.ask(encoded({.request_id = 9, .session = session, .sequence = ++sequence},
                               protocol::AdvanceTick{100})));
  disk->is_full = true;
  // The request that fills the last file waits. The requests after it are refused.
  std::unique_ptr<RawReply> reply;
  std::uint64_t last_sent = sequence;
  for (int i = 0; i < 2000; ++i) {
    send(++last_sent);
    std::this_thread::yield();
    peer.send(encoded({.request_id = 1, .session = session},
                      protocol::GetNeighbors{{nearest_to(0, 1, 0, 0)}}));
    do {
      reply = peer.receive();
      ASSERT_TRUE(reply) << "a question is not answered";
      if (reply->error() == ErrorCode::busy) break;
      if (reply->decoded.head.request_id >= 1000) sequence = reply->decoded.head.request_id - 1000;
    } while (reply->decoded.head.request_id != 1);
    if (reply->error() == ErrorCode::busy) break;
  }
  ASSERT_EQ(reply->error(), ErrorCode::busy);
  last_sent = reply->decoded.head.request_id - 1000;
  const auto& refused = std::get<protocol::ErrorReply>(reply->decoded.body);
  EXPECT_THAT(refused.problem.sentence, testing::HasSubstr("free space there"));
  EXPECT_EQ(refused.sequence_expected, last_sent) << "the request may be sent again";
  // Meanwhile questions are answered, also those of a new session. The log gets the session when
  // the disk has room.
  peer.send(encoded({.request_id = 2, .session = session},
                    protocol::GetNeighbors{{nearest_to(0, 1, 0, 0)}}));
  do reply = peer.receive();
  while (reply && reply->decoded.head.request_id != 2);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), ErrorCode::none);
  RawPeer newcomer(context, server->endpoints().commands);
  const std::uint64_t late = newcomer.hello();
  EXPECT_EQ(newcomer
                .ask(encoded({.request_id = 1, .session = late},
                             protocol::GetNeighbors{{nearest_to(0, 1, 0, 0)}}))
                ->error(),
            ErrorCode::none);
  const std::string put = encoded({.request_id = 2, .session = late, .sequence = 1},
                                  protocol::PutStream{.name = "late"});
  EXPECT_EQ(newcomer.ask(put)->error(), ErrorCode::busy);
  disk->is_full = false;
  ASSERT_TRUE(happens([&] {
    send(last_sent);
    do reply = peer.receive();
    while (reply && reply->decoded.head.request_id != 1000 + last_sent);
    return reply && reply->error() == ErrorCode::none;
  }));
  EXPECT_EQ(std::get<protocol::BatchReply>(reply->decoded.body).accepted, 20u);
  EXPECT_EQ(newcomer.ask(put)->error(), ErrorCode::none);
  stop();
  start(options());
  RawPeer again(context, server->endpoints().commands);
  const auto resumed =
      again.ask(encoded({}, protocol::Hello{.client = "new", .resume_session = late}));
  EXPECT_TRUE(std::get<protocol::HelloReply>(resumed->decoded.body).resumed);
  EXPECT_EQ(std::get<protocol::HelloReply>(resumed->decoded.body).last_sequence, 1u);
}

TEST_F(DiskFaults, TicksThatWaitForRoomAreNoOverruns) {
  ServerOptions ticking = options();
  ticking.tick_period_us = 2000;
  RunningServer running(ticking);
  disk->is_full = true;
  auto asking = running.client();
  ASSERT_TRUE(happens([&] { return running.stat("starling_journal_full") == 1; }));
  const double before = running.stat("starling_tick_overruns_total");
  const auto since = std::chrono::steady_clock::now();
  ASSERT_TRUE(happens([&] {  // many ticks are due
    EXPECT_EQ(running.stat("starling_tick_overruns_total"), before);
    return std::chrono::steady_clock::now() - since > std::chrono::milliseconds(50);
  }));
  disk->is_full = false;
  EXPECT_TRUE(happens([&] { return running.stat("starling_journal_full") == 0; }));
}

TEST_F(DiskFaults, WithoutRoomTheServerLivesAndIsNotReady) {
  ServerOptions ticking = options();
  ticking.tick_period_us = 2000;
  RunningServer running(ticking);
  const auto health = [&](const std::string& target) {
    return http_get(running.endpoints().http, target);
  };
  EXPECT_TRUE(health("/healthz?ready").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(running.stat("starling_journal_full_seconds"), 0);
  disk->is_full = true;
  auto asking = running.client();
  ASSERT_TRUE(happens([&] { return running.stat("starling_journal_full_seconds") > 0; }));
  EXPECT_TRUE(health("/healthz").starts_with("HTTP/1.1 200"));
  const std::string answer = health("/healthz?ready");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503")) << answer;
  EXPECT_THAT(answer, ::testing::HasSubstr("free space there"));
  EXPECT_TRUE(health("/healthz?ready=true").starts_with("HTTP/1.1 503"));
  EXPECT_TRUE(health("/healthz?ready=false").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(health("/healthz?ready=no").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(health("/healthz?redy").starts_with("HTTP/1.1 400"));
  disk->is_full = false;
  EXPECT_TRUE(happens([&] { return health("/healthz?ready").starts_with("HTTP/1.1 200"); }));
  EXPECT_EQ(running.stat("starling_journal_full_seconds"), 0);
}

TEST_F(DiskFaults, AFailedSyncAcknowledgesNothingAndEndsTheServer) {
  std::atomic<bool> fails = false;
  files->on_sync = [&] {
    if (fails) files->fail_sync(1);
  };
  start(options());
  {
    auto first = client();
    put_objects(first, 0, 3);
  }
  RawPeer peer(context, server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  fails = true;
  Fixes fixes;
  fixes.add(77, 1, 0, 0);
  peer.send(encoded({.request_id = 7, .session = session, .sequence = 1}, fixes.batch()));
  thread.join();
  EXPECT_THAT(failure, testing::HasSubstr("cannot be written"));
  EXPECT_THAT(failure, testing::HasSubstr("start the server again"));
  server.reset();
  fails = false;
  files->fail_sync(0);
  start(options());
  auto again = client();
  const std::vector<std::uint64_t> ids{0, 1, 2};
  EXPECT_EQ(again.objects(ids).value().objects.size(), 3u);
  stop();  // before `fails` is destroyed
}

TEST_F(DiskFaults, ASessionIsNotAnsweredOnceTheLogHasFailed) {
  log::GroupCommit* commits = nullptr;
  std::atomic<bool> is_held = false;
  std::atomic<bool> has_ended = false;
  ServerOptions held = options();
  held.journal.run_commits = [&](log::GroupCommit& made) { commits = &made; };
  held.watch_loop_turn = [&](std::int64_t) {
    while (is_held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  start(held);
  EndingPeer peer(context, server->endpoints().commands, [&] { return has_ended.load(); });
  is_held = true;
  // The first request begins the turn that is held. The loop gets the second request before the
  // failure. On a machine too slow for that, the server ends before it sees the request.
  for (const char* const name : {"first", "second"}) {
    peer.send(encoded({}, protocol::Hello{.client = name}));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  files->on_sync = [&] { files->fail_sync(1); };
  while (!commits->has_failed()) commits->step();
  is_held = false;
  thread.join();
  has_ended = true;
  EXPECT_THAT(failure, testing::HasSubstr("cannot be written"));
  EXPECT_THROW(peer.receive(), NoReply);
}

TEST_F(DiskFaults, NothingIsAcknowledgedOrPublishedBeforeItIsOnTheDisk) {
  start(options());
  RawPeer peer(context, server->endpoints().commands);
  const std::uint64_t session = peer.hello();
  ASSERT_TRUE(peer.ask(encoded({.request_id = 1, .session = session, .sequence = 1},
                               protocol::PutStream{.name = "s"})));
  zmq::socket_t results(context, zmq::socket_type::sub);
  results.set(zmq::sockopt::subscribe, protocol::topic_of("s"));
  results.set(zmq::sockopt::linger, 0);
  results.connect(server->endpoints().results);
  auto asker = client();
  ASSERT_TRUE(happens([&] {
    for (const auto& stream : asker.streams().value())
      if (stream.subscription_count > 0) return true;
    return false;
  }));
  syncs.hold();
  peer.send(
      encoded({.request_id = 2, .session = session, .sequence = 2}, protocol::AdvanceTick{100}));
  // The tick is computed by now, because the same loop answers a later request.
  ASSERT_TRUE(happens([&] { return asker.get_stats().has_value(); }));
  zmq::message_t part;
  results.set(zmq::sockopt::rcvtimeo, 100);
  EXPECT_FALSE(results.recv(part)) << "the tick is published before its mark is on the disk";
  syncs.let_go();
  results.set(zmq::sockopt::rcvtimeo, static_cast<int>(1000 * patience.count()));
  EXPECT_TRUE(results.recv(part));
  const auto done = peer.receive();
  ASSERT_TRUE(done);
  EXPECT_TRUE(std::holds_alternative<protocol::TickDone>(done->decoded.body));
}

class SnapshotOnASlowDisk : public DiskFaults {
 protected:
  void ask_to(const protocol::RequestBody& change) { ASSERT_TRUE(peer_->ask(changing(1, change))); }
  /// Sends a change and then asks for a snapshot of the stream "s", while the disk stands still.
  void expect_snapshot_behind(const protocol::RequestBody& change) {
    auto asker = client();
    syncs.hold();
    peer_->send(changing(2, change));
    peer_->send(
        encoded({.request_id = 3, .session = session_}, protocol::GetSnapshot{.stream = "s"}));
    EXPECT_TRUE(happens([&] { return asker.get_stats().has_value(); })) << "the loop goes on";
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    syncs.let_go();
    for (const std::uint64_t id : {2u, 3u}) {
      const auto reply = peer_->receive();
      ASSERT_TRUE(reply);
      EXPECT_EQ(reply->decoded.head.request_id, id)
          << "the change is told before it is on the disk";
      EXPECT_EQ(reply->error(), ErrorCode::none);
    }
  }
  void SetUp() override {
    start(options());
    peer_.emplace(context, server->endpoints().commands);
    session_ = peer_->hello();
  }

 private:
  std::string changing(std::uint64_t request_id, const protocol::RequestBody& change) {
    return encoded({.request_id = request_id, .session = session_, .sequence = ++sequence_},
                   change);
  }

  std::optional<RawPeer> peer_;
  std::uint64_t session_ = 0;
  std::uint64_t sequence_ = 0;
};

TEST_F(SnapshotOnASlowDisk, WaitsUntilItsStreamIsOnTheDisk) {
  ask_to(protocol::AdvanceTick{100});
  expect_snapshot_behind(protocol::PutStream{.name = "s"});
}

TEST_F(SnapshotOnASlowDisk, ThatLacksARemovedQueryWaitsUntilTheRemovalIsOnTheDisk) {
  const std::vector<protocol::QuerySpec> queries{nearest_to(1, 1, 0, 0), nearest_to(2, 1, 0, 0)};
  const std::vector<std::uint64_t> removed{1};
  ask_to(protocol::PutStream{.name = "s"});
  ask_to(protocol::PutQueries{"s", queries});
  ask_to(protocol::AdvanceTick{100});
  expect_snapshot_behind(protocol::RemoveQueries{"s", removed});
}

}  // namespace
}  // namespace starling::stream
