// SPDX-License-Identifier: Apache-2.0
// Tests which replies, ticks and sessions of a server wait for a commit of its log, and which do
// not.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/engine/forwarding_engine.hpp"
#include "starling/log/group_commit.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/journal/told_state.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "wire/starling_generated.h"

namespace starling::stream {
namespace {

TEST(Durability, WithoutAFolderItIsRefused) {
  ServerOptions options = manual_options();
  options.journal.durability = Durability::sync;
  std::string sentence;
  try {
    const Server server(options, make_engine());
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  EXPECT_THAT(sentence, testing::HasSubstr("name one with --journal DIR, or use --durability off"));
}

TEST(Durability, AFolderAloneMeansTickAndOffMeansNoLog) {
  const JournalFolder folder;
  ServerOptions options = journal_options(folder.path());
  EXPECT_EQ(completed(options, make_engine()->limits()).journal.durability, Durability::tick);
  options.journal.durability = Durability::off;
  { const RunningServer server(options); }
  EXPECT_TRUE(folder.files().empty());
}

/// The log commits at most 10 ms after the first waiting record.
TEST(Durability, AReplyToAdvanceTickDoesNotWaitForTheNextCommitByTheClock) {
  constexpr int ticks = 20;
  RunningServer server(journal_options(std::make_shared<TestDisk>()));
  auto client = server.client();
  double least_ms = std::numeric_limits<double>::infinity();
  for (int round = 0, tau_us = 1; round < 5; ++round) {
    const std::int64_t since_us = steady_now_us();
    for (int i = 0; i < ticks; ++i) client.advance_tick(tau_us++).value();
    least_ms = std::min(least_ms, ms_since(since_us));
  }
  EXPECT_LT(least_ms, ticks * 10 / 2);
}

/// What the engine and the test share.
struct TickStarts {
  log::GroupCommit* commits = nullptr;
  std::atomic<int> begun{0};
  std::vector<std::int64_t> commit_due_in_us;  ///< [tick]: GroupCommit::due_in_us() at its begin
};

class WatchedEngine final : public ForwardingEngine {
 public:
  WatchedEngine(std::unique_ptr<Engine> engine, TickStarts& starts)
      : ForwardingEngine(std::move(engine)), starts_(starts) {}

  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    starts_.commit_due_in_us.push_back(starts_.commits->due_in_us());
    ++starts_.begun;
    return ForwardingEngine::begin_tick(tick, tau_us);
  }

 private:
  TickStarts& starts_;
};

TEST(Durability, TheMarkOfATickIsOnItsWayToTheDiskBeforeTheEngineBegins) {
  constexpr int ticks = 5;
  TickStarts starts;
  ServerOptions options = journal_options(std::make_shared<TestDisk>());
  options.journal.run_commits = [&](log::GroupCommit& commits) { starts.commits = &commits; };
  RunningServer server(options, std::make_unique<WatchedEngine>(make_engine(), starts));
  std::atomic<int> asked{0};
  const auto advancing = std::async(std::launch::async, [&] {
    auto client = server.client();
    while (asked < ticks) client.advance_tick(++asked).value();
  });
  // Between a request for a tick and its beginning, nothing is committed.
  while (advancing.wait_for(std::chrono::microseconds(10)) != std::future_status::ready)
    if (asked == starts.begun) starts.commits->step();
  server.stop();
  EXPECT_THAT(starts.commit_due_in_us, testing::ElementsAre(0, 0, 0, 0, 0));
}

TEST(Durability, WhileMuchWaitsForTheDiskANewSessionBeginsAndTheLogKnowsItLater) {
  log::GroupCommit* commits = nullptr;
  ServerOptions options = journal_options(std::make_shared<TestDisk>());
  options.processor.objects.objects_max = 100'000;
  options.journal.buffer_bytes_max = std::uint64_t{9} << 20;
  options.journal.run_commits = [&](log::GroupCommit& made) { commits = &made; };
  RunningServer server(options);
  const auto commit_until = [&](const auto& asking) {
    while (asking.wait_for(std::chrono::microseconds(100)) != std::future_status::ready)
      commits->step();
  };
  RawPeer known(server.context(), server.endpoints().commands);
  auto opening = std::async(std::launch::async, [&] { return known.hello(); });
  commit_until(opening);
  Fixes fixes;
  for (std::uint64_t id = 0; id < 60'000; ++id) fixes.add(id, 1, double(id), 0);
  known.send(encoded({.request_id = 1, .session = opening.get(), .sequence = 1}, fixes.batch()));
  RawPeer late(server.context(), server.endpoints().commands);
  ASSERT_TRUE(happens([&] { return !commits->has_room(std::uint64_t{8} << 20); }));
  const std::uint64_t session = late.hello();  // does not wait for a commit

  auto acknowledging = std::async(std::launch::async, [&] { return known.receive(); });
  commit_until(acknowledging);
  EXPECT_EQ(std::get<protocol::BatchReply>(acknowledging.get()->decoded.body).accepted, 60'000u);
  const std::string put = encoded({.request_id = 2, .session = session, .sequence = 1},
                                  protocol::PutStream{.name = "late"});
  auto asking = std::async(std::launch::async, [&] { return late.ask(put); });
  commit_until(asking);
  EXPECT_EQ(asking.get()->error(), protocol::ErrorCode::none);
}

/// In a frame, the rows of names may share one text, and in a record each has its own. A record
/// that could be too long is refused.
TEST(Durability, NamesThatShareATextHaveNoRecordThatIsTooLong) {
  RunningServer server(journal_options(std::make_shared<TestDisk>()));
  RawPeer peer(server.context(), server.endpoints().commands);
  const std::uint64_t session = peer.hello();
  const std::string text(255, 'n');
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<flatbuffers::Offset<flatbuffers::String>> texts(262'144,
                                                                    builder.CreateString(text));
  const std::vector<std::uint64_t> ids(texts.size(), to_number(protocol::id_of_text(text)));
  const auto body = wire::CreatePutNamesDirect(builder, &ids, &texts);
  builder.Finish(
      wire::CreateRequest(builder, 1, 1, session, 1, wire::RequestBody::PutNames, body.Union()),
      "STRQ");
  const std::string frame(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                          builder.GetSize());
  const auto refused = peer.ask(frame);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error(), protocol::ErrorCode::too_many_rows) << told_reply(*refused);
  EXPECT_NE(peer.hello(), 0u);
}

}  // namespace
}  // namespace starling::stream
