// SPDX-License-Identifier: Apache-2.0
// Kills the program at random moments while a client sends rows as fast as the program takes them,
// and sometimes while the program starts. After each restart, looks for every row that was
// acknowledged, and sends requests again.
// STARLING_KILLS is the number of kills, STARLING_KILL_ROWS the number of rows in a request, and
// STARLING_KILL_MS the longest time until a kill. 5,000 rows and 500 ms give millions of rows a
// second.
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "tests/stream/journal/ending_peer.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

const std::uint64_t rows_per_request = test::number_in_environment("STARLING_KILL_ROWS", 200);
const auto longest_run_us =
    static_cast<std::int64_t>(1000 * test::number_in_environment("STARLING_KILL_MS", 120));
constexpr std::uint64_t moving_objects = 2'000;  // few, because a restart runs all ticks again
constexpr std::size_t unanswered_requests = 24;
constexpr std::size_t answered_requests_kept = 32;

// The row with number n is a fix of object n mod moving_objects.
std::int64_t time_of_row(std::uint64_t row) {
  return 1 + static_cast<std::int64_t>(row / moving_objects);
}
double x_of(std::int64_t time_us) {
  return static_cast<double>(time_us % 1000);
}

/// Returns the frame of the session's request with this number. Request 1 has the first rows.
std::string rows_frame(std::uint64_t session, std::uint64_t sequence) {
  Fixes fixes;
  for (std::uint64_t i = 0; i < rows_per_request; ++i) {
    const std::uint64_t row = (sequence - 1) * rows_per_request + i;
    fixes.add(row % moving_objects, time_of_row(row), x_of(time_of_row(row)), 0);
  }
  return encoded({.request_id = sequence, .session = session, .sequence = sequence}, fixes.batch());
}

class KilledServer : public ProgramTest, public testing::WithParamInterface<const char*> {
 protected:
  void run_program() {
    std::filesystem::remove(endpoints_path);
    program.emplace(serve({"--tick", "5ms", "--journal", folder.path(), "--durability", GetParam(),
                           "--objects-max", "100000"}));
  }

  void kill_while_it_starts(std::int64_t wait_us) {
    run_program();
    std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
    program->send_signal(SIGKILL);
    program->exit_status();
  }

  void start() {
    is_killed = false;
    run_program();
    ASSERT_TRUE(program->says("ready:")) << program->said();
    peer.emplace(context, endpoint("commands"), [this] { return is_killed.load(); });
    const auto reply =
        peer->ask(encoded({}, protocol::Hello{.client = "rows", .resume_session = session}));
    const auto& hello = std::get<protocol::HelloReply>(reply->decoded.body);
    ASSERT_EQ(hello.resumed, session != 0);
    ASSERT_GE(hello.last_sequence, acknowledged) << "acknowledged requests are lost";
    ASSERT_LE(hello.last_sequence, sent);
    session = hello.session;
    found = hello.last_sequence;
  }

  /// Checks that every object has its last row of the first `found` requests.
  void expect_rows() {
    constexpr std::uint64_t ids_at_once = 1000;
    const std::uint64_t rows = found * rows_per_request;
    const std::uint64_t end = std::min(rows, moving_objects);
    for (std::uint64_t first = 0; first < end; first += ids_at_once) {
      std::vector<std::uint64_t> ids;
      for (std::uint64_t id = first; id < std::min(first + ids_at_once, end); ++id)
        ids.push_back(id);
      const auto reply =
          peer->ask(encoded({.session = session}, protocol::GetObjects{.object_ids = ids}));
      const auto& objects = std::get<protocol::Objects>(reply->decoded.body);
      ASSERT_TRUE(objects.missing_ids.empty()) << "object " << objects.missing_ids[0];
      for (std::size_t i = 0; i < objects.ids.size(); ++i) {
        const std::uint64_t id = objects.ids[i];
        const std::uint64_t last_row = id + (rows - 1 - id) / moving_objects * moving_objects;
        ASSERT_EQ(objects.times_us[i], time_of_row(last_row)) << "object " << id;
        ASSERT_EQ(objects.positions[3 * i], x_of(time_of_row(last_row))) << "object " << id;
      }
    }
  }

  /// Resends requests that the server has. It must answer them as before and not apply them again.
  void send_again() {
    const std::uint64_t first =
        found > answered_requests_kept ? found - answered_requests_kept + 1 : 1;
    for (std::uint64_t sequence = first; sequence <= found; ++sequence) {
      const auto reply = peer->ask(rows_frame(session, sequence));
      ASSERT_EQ(told_reply(*reply), accepted_all) << "request " << sequence;
    }
    acknowledged = sent = found;
  }

  /// Sends requests until the server is killed.
  void send_rows() {
    const auto since = std::chrono::steady_clock::now();
    const std::uint64_t before = acknowledged;
    try {
      for (;;) {
        while (sent - acknowledged < unanswered_requests) peer->send(rows_frame(session, ++sent));
        const auto reply = peer->receive();
        ASSERT_EQ(told_reply(*reply), accepted_all);
        ASSERT_EQ(reply->decoded.head.sequence, acknowledged + 1);
        ++acknowledged;
      }
    } catch (const NoReply&) {
    }
    sent_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    rows_acknowledged += (acknowledged - before) * rows_per_request;
  }

  const std::string accepted_all =
      "accepted " + std::to_string(rows_per_request) + ", late 0, rejected 0";
  const JournalFolder folder;
  std::optional<Program> program;
  std::optional<EndingPeer> peer;
  std::atomic<bool> is_killed{false};
  std::uint64_t session = 0;
  // Numbers of requests.
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t found = 0;  ///< the last request that the server had at its start
  double sent_s = 0;
  std::uint64_t rows_acknowledged = 0;
};

TEST_P(KilledServer, HasEveryAcknowledgedRowAfterItsRestart) {
  const auto kills = static_cast<int>(test::number_in_environment("STARLING_KILLS", 6));
  test::Random random(7);
  for (int i = 0; i <= kills; ++i) {
    SCOPED_TRACE("after kill " + std::to_string(i));
    if (random.chance(0.3)) kill_while_it_starts(random.between(0, 60'000));
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_NO_FATAL_FAILURE(expect_rows());
    ASSERT_NO_FATAL_FAILURE(send_again());
    if (i == kills) break;
    std::thread killer([&, wait_us = random.between(1'000, longest_run_us)] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
      program->send_signal(SIGKILL);
      is_killed = true;
    });
    send_rows();
    killer.join();
    ASSERT_FALSE(HasFailure());
    program->exit_status();
  }
  EXPECT_GT(rows_acknowledged, 0u);
  std::printf("%s: %llu rows were acknowledged before %d kills, %.0f rows/s\n", GetParam(),
              static_cast<unsigned long long>(rows_acknowledged), kills,
              static_cast<double>(rows_acknowledged) / sent_s);
}

INSTANTIATE_TEST_SUITE_P(Durabilities, KilledServer, testing::Values("tick", "sync"));

TEST_F(ProgramTest, ADurabilityWithoutAFolderIsRefusedWithAWordOnWhatToDo) {
  Program program(serve({"--durability", "tick"}));
  EXPECT_EQ(program.exit_status(), 1);
  program.says("never said");
  EXPECT_NE(program.said().find("name one with --journal DIR"), std::string::npos)
      << program.said();
}

TEST_F(ProgramTest, AnUnknownDurabilityIsRefused) {
  Program program(serve({"--durability", "always"}));
  EXPECT_EQ(program.exit_status(), 2);
  program.says("never said");
  EXPECT_NE(program.said().find("neither off, tick nor sync"), std::string::npos) << program.said();
}

}  // namespace
}  // namespace starling::stream
