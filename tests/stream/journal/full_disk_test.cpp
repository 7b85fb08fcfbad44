// SPDX-License-Identifier: Apache-2.0
// Tests a server whose disk is full while the server stops or starts.
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/journal/ending_peer.hpp"
#include "tests/stream/journal/journal_world.hpp"

namespace starling::stream {
namespace {

using testing::HasSubstr;

std::string start_failure(const ServerOptions& options) {
  try {
    Server(options, make_engine());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "the server starts";
}

/// A server whose run() may fail. A session sends it batches, each with new objects.
class ServerOnFullDisk {
 public:
  explicit ServerOnFullDisk(const ServerOptions& options)
      : server_(options, make_engine()), thread_([this] {
          try {
            server_.run();
          } catch (const std::exception& error) {
            failure_ = error.what();
          }
          has_ended_ = true;
        }) {}
  ~ServerOnFullDisk() { stop(); }

  /// Stops the server, and returns what its run() threw.
  std::string stop() {
    if (thread_.joinable()) {
      server_.stop();
      thread_.join();
    }
    return failure_;
  }
  EndingPeer peer() {
    return {context_, server_.endpoints().commands, [this] { return has_ended_.load(); }};
  }

 private:
  zmq::context_t context_;
  Server server_;
  std::atomic<bool> has_ended_{false};
  std::string failure_;
  std::thread thread_;
};

std::uint64_t open_session(EndingPeer& peer) {
  const auto reply = peer.ask(encoded({}, protocol::Hello{.client = "raw"}));
  return std::get<protocol::HelloReply>(reply->decoded.body).session;
}

/// Resumes a session, and returns the number of its last request that the server has.
std::uint64_t resumed_sequence(EndingPeer& peer, std::uint64_t session) {
  const auto reply =
      peer.ask(encoded({}, protocol::Hello{.client = "raw", .resume_session = session}));
  const auto& hello = std::get<protocol::HelloReply>(reply->decoded.body);
  EXPECT_TRUE(hello.resumed);
  return hello.last_sequence;
}

std::string batch_frame(std::uint64_t session, std::uint64_t sequence) {
  Fixes fixes;
  for (std::uint64_t id = 0; id < 10; ++id) fixes.add(10 * sequence + id, 1, 0, 0);
  return encoded({.request_id = sequence, .session = session, .sequence = sequence}, fixes.batch());
}

/// Sends batches until one is refused, because the disk is full, and takes the replies. The first
/// batch without a reply waits for room, and the batches after it are refused.
class Filler {
 public:
  Filler(EndingPeer& peer, std::uint64_t session) : peer_(peer), session_(session) {}

  void send_acknowledged(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      peer_.send(batch_frame(session_, ++sent_));
      take(*peer_.receive());
    }
  }
  void fill() {
    while (!is_refused_) {
      peer_.send(batch_frame(session_, ++sent_));
      peer_.send(encoded({.session = session_}, protocol::GetStats{}));
      while (!take(*peer_.receive())) continue;
    }
  }
  /// Takes all replies that come until the server has ended.
  void take_rest() {
    try {
      for (;;) take(*peer_.receive());
    } catch (const NoReply&) {
    }
  }
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  /// Returns whether the reply is the one to GetStats.
  bool take(const RawReply& reply) {
    if (std::holds_alternative<protocol::Stats>(reply.decoded.body)) return true;
    if (std::holds_alternative<protocol::BatchReply>(reply.decoded.body))
      acknowledged_ = reply.decoded.head.request_id;
    is_refused_ = is_refused_ || reply.error() == protocol::ErrorCode::busy;
    return false;
  }

  EndingPeer& peer_;
  std::uint64_t session_;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  bool is_refused_ = false;
};

TEST(FullDisk, AtTheStopEndsTheServerWithASentenceAndKeepsWhatWasAcknowledged) {
  const auto disk = std::make_shared<TestDisk>();
  const ServerOptions options = journal_options(disk);
  std::uint64_t session = 0;
  std::uint64_t acknowledged = 0;
  {
    ServerOnFullDisk server(options);
    EndingPeer peer = server.peer();
    session = open_session(peer);
    Filler filler(peer, session);
    filler.send_acknowledged(3);
    disk->is_full = true;
    filler.fill();
    const std::string failure = server.stop();
    EXPECT_THAT(failure, HasSubstr("cannot be written"));
    EXPECT_THAT(failure, HasSubstr("the test's disk is full"));
    filler.take_rest();
    acknowledged = filler.acknowledged();
  }
  EXPECT_GE(acknowledged, 3u);
  disk->is_full = false;
  ServerOnFullDisk server(options);
  EndingPeer peer = server.peer();
  EXPECT_GE(resumed_sequence(peer, session), acknowledged);
  for (std::uint64_t sequence = 1; sequence <= acknowledged + 5; ++sequence) {
    const auto reply = peer.ask(batch_frame(session, sequence));
    EXPECT_EQ(told_reply(*reply), "accepted 10, late 0, rejected 0") << sequence;
  }
  EXPECT_EQ(server.stop(), "");
}

TEST(FullDisk, AtTheStopIsNoFailureIfThereIsRoomAgain) {
  const auto disk = std::make_shared<TestDisk>();
  const ServerOptions options = journal_options(disk);
  ServerOnFullDisk server(options);
  EndingPeer peer = server.peer();
  const std::uint64_t session = open_session(peer);
  Filler filler(peer, session);
  disk->is_full = true;
  filler.fill();
  const std::uint64_t acknowledged = filler.acknowledged();
  disk->is_full = false;
  EXPECT_EQ(server.stop(), "");
  ServerOnFullDisk again(options);
  EndingPeer next = again.peer();
  EXPECT_GT(resumed_sequence(next, session), acknowledged) << "what waited is written at the stop";
}

TEST(FullDisk, AtTheFirstStartIsRefusedWithASentence) {
  const auto disk = std::make_shared<TestDisk>();
  disk->is_full = true;
  const ServerOptions options = journal_options(disk);
  EXPECT_THAT(
      start_failure(options),
      HasSubstr("journal: the test's disk is full; free space there, or give another folder"));
  disk->is_full = false;
  ServerOnFullDisk server(options);
  EndingPeer peer = server.peer();
  EXPECT_NE(open_session(peer), 0u);
}

TEST(FullDisk, AtALaterStartLetsTheServerStartAndAnswerQuestions) {
  const auto disk = std::make_shared<TestDisk>();
  const ServerOptions options = journal_options(disk);
  std::uint64_t session = 0;
  {
    ServerOnFullDisk server(options);
    EndingPeer peer = server.peer();
    session = open_session(peer);
    EXPECT_EQ(told_reply(*peer.ask(batch_frame(session, 1))), "accepted 10, late 0, rejected 0");
    EXPECT_EQ(server.stop(), "");
  }
  disk->is_full = true;
  ServerOnFullDisk server(options);
  EndingPeer peer = server.peer();
  const std::vector<std::uint64_t> ids{10, 19};
  // The last file has room for the resumed session.
  EXPECT_EQ(resumed_sequence(peer, session), 1u);
  const auto reply =
      peer.ask(encoded({.session = session}, protocol::GetObjects{.object_ids = ids}));
  EXPECT_EQ(std::get<protocol::Objects>(reply->decoded.body).ids.size(), 2u);
}

TEST(AFolder, ThatIsAFileIsRefusedWithAWordOnWhatToDo) {
  const JournalFolder folder;
  std::filesystem::create_directories(folder.path());
  const std::string path = folder.path() + "/file";
  std::ofstream(path) << "not a folder";
  const std::string failure = start_failure(journal_options(path));
  EXPECT_THAT(failure, HasSubstr(path));
  EXPECT_THAT(failure, HasSubstr("or name another one"));
}

}  // namespace
}  // namespace starling::stream
