// SPDX-License-Identifier: Apache-2.0
// Tests a tick that was under way when the server was killed. When the server starts again, the
// tick fails, as it may have failed before. The server must start, and subscribers must see a gap.
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "starling/knn/engine/forwarding_engine.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/log_run.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {
namespace {

using protocol::ErrorCode;

constexpr Tick open_tick{2};

/// An engine that delays or fails all ticks from open_tick on.
class OpenTickEngine final : public ForwardingEngine {
 public:
  struct Control {
    std::mutex mutex;
    bool fails = false;
    std::deque<std::function<void()>> held;

    void release() {
      const std::lock_guard lock(mutex);
      for (const auto& deliver : std::exchange(held, {})) deliver();
    }
  };

  explicit OpenTickEngine(Control& control) : ForwardingEngine(make_engine()), control_(control) {}

  void set_result_handler(ResultHandler handler) override {
    ForwardingEngine::set_result_handler(
        [&control = control_, handler = std::move(handler)](std::unique_ptr<TickResult> result) {
          if (result->tick < open_tick) return handler(std::move(result));
          const std::lock_guard lock(control.mutex);
          if (control.fails) {
            auto failed = std::make_unique<TickResult>();
            failed->tick = result->tick;
            failed->tau_us = result->tau_us;
            failed->error = "the test lets this tick fail";
            return handler(std::move(failed));
          }
          const auto kept = std::make_shared<std::unique_ptr<TickResult>>(std::move(result));
          control.held.push_back([handler, kept] { handler(std::move(*kept)); });
        });
  }

 private:
  Control& control_;
};

bool has_begun(const std::string& folder) {
  bool found = false;
  const auto files = log::open_folder(folder, log::FolderUse::read);
  log::read_log(*files, [&](const log::Group& group) {
    for (const log::Record& record : group.records)
      found = found || (record.type == record_type::tick_begun &&
                        std::get<TickBegunRecord>(decode(record)).tick == open_tick);
  });
  return found;
}

std::string advance(std::uint64_t session, std::uint64_t sequence, std::int64_t tau_us) {
  return encoded({.request_id = sequence, .session = session, .sequence = sequence},
                 protocol::AdvanceTick{tau_us});
}

TEST(OpenTick, ThatFailsAtTheNextStartKeepsNoServerFromStarting) {
  const JournalFolder folder;
  const JournalFolder killed;
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  {
    OpenTickEngine::Control control;
    RunningServer server(journal_options(folder.path()), std::make_unique<OpenTickEngine>(control));
    epoch = server.client().epoch();
    RawPeer peer(server.context(), server.endpoints().commands);
    session = peer.hello();
    peer.ask(encoded({.request_id = 1, .session = session, .sequence = 1},
                     protocol::PutStream{.name = "s"}));
    ASSERT_EQ(peer.ask(advance(session, 2, 1000))->error(), ErrorCode::none);
    peer.send(advance(session, 3, 2000));
    ASSERT_TRUE(happens([&] { return has_begun(folder.path()); }));
    std::filesystem::copy(folder.path(), killed.path(), std::filesystem::copy_options::recursive);
    ASSERT_TRUE(happens([&] {
      control.release();
      return server.stat("starling_ticks_total") >= 2;
    }));
  }
  {
    OpenTickEngine::Control control;
    control.fails = true;
    RunningServer server(journal_options(killed.path()), std::make_unique<OpenTickEngine>(control));
    EXPECT_NE(server.client().epoch(), epoch) << "the folder is a copy";
    epoch = server.client().epoch();
    RawPeer peer(server.context(), server.endpoints().commands);
    peer.ask(encoded({}, protocol::Hello{.client = "test", .resume_session = session}));
    EXPECT_EQ(peer.ask(advance(session, 3, 2000))->error(), ErrorCode::tick_failed);
    EXPECT_EQ(peer.ask(advance(session, 4, 3000))->error(), ErrorCode::tick_failed);
  }
  RunningServer server(journal_options(killed.path()));
  EXPECT_EQ(server.client().epoch(), epoch);
  RawPeer peer(server.context(), server.endpoints().commands);
  peer.ask(encoded({}, protocol::Hello{.client = "test", .resume_session = session}));
  EXPECT_EQ(peer.ask(advance(session, 3, 2000))->error(), ErrorCode::tick_failed);
  const auto done = peer.ask(advance(session, 5, 4000));
  EXPECT_EQ(std::get<protocol::TickDone>(done->decoded.body).tick, Tick{5})
      << "a tick without messages is between the one that was open and the next one";
  server.stop();
  const auto files = log::open_folder(killed.path(), log::FolderUse::read);
  const LogRunCounts counts =
      LogRun(*files, {.make_engine = engine_for}).run({}, [](const RanTick&) { return true; });
  EXPECT_EQ(counts.failed_ticks, 3u);
  EXPECT_EQ(counts.different, 0u);
}

}  // namespace
}  // namespace starling::stream
