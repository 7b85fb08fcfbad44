// SPDX-License-Identifier: Apache-2.0
// Tests faults from outside the program: its process is stopped for a while, or the disk is full.
#include "starling/knn/base/clocks.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/witness.hpp"

namespace starling::stream {
namespace {

constexpr std::uint64_t frozen_ms = 300;
constexpr double overruns_min = 200;  // at least this many of the 300 due ticks

class ProgramFaults : public ProgramTest {};

TEST_F(ProgramFaults, AServerThatStoodStillSkipsItsTicksCountsThemAndIsExact) {
  Program program(serve({"--tick", "1ms"}));
  ASSERT_TRUE(program.says("ready")) << program.said();
  const Endpoints endpoints{endpoint("commands"), endpoint("results"), endpoint("http")};
  Witness witness(context, endpoints, Witness::Ticks::by_the_clock);
  test::Random random(1);
  witness.move_and_expect_exact(random);
  const auto stat = [&](std::string_view name) {
    const auto values = witness.client().get_stats().value();
    return std::ranges::find(values, name, [](const auto& value) { return value.first; })->second;
  };
  for (int time = 0; time < 3; ++time) {
    const double overruns = stat("starling_tick_overruns_total");
    program.freeze();
    while (witness.subscriber().poll(50)) {
    }  // reads what was sent before the freeze
    EXPECT_FALSE(witness.subscriber().poll(std::int64_t{frozen_ms}))
        << "a stopped process sent a tick";
    const std::uint64_t last_tick = to_number(witness.subscriber().state().held_at()->tick);
    const std::int64_t since_us = steady_now_us();
    program.send_signal(SIGCONT);
    ASSERT_TRUE(happens([&] { return witness.subscriber().poll(10); }));
    const auto ticks_since = static_cast<std::uint64_t>(ms_since(since_us));
    EXPECT_LT(to_number(witness.subscriber().state().held_at()->tick),
              last_tick + ticks_since + frozen_ms / 3)
        << "the ticks that were due meanwhile were queued";
    // The first message may be of the tick during which the server stood still.
    EXPECT_TRUE(
        happens([&] { return stat("starling_tick_overruns_total") - overruns >= overruns_min; }));
    witness.move_and_expect_exact(random);
  }
  EXPECT_EQ(witness.subscriber().state().counters().ticks_lost, 0u);
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0) << program.said();
}

class ProgramLog : public ProgramTest {
 protected:
  /// The arguments of a server for flood_log().
  static std::vector<std::string> flooded() {
    return {"--tick", "1ms", "--hellos-burst", "100000"};
  }
  /// Makes the server log far more than its queue of lines holds. Returns false if the server stops
  /// answering.
  bool flood_log() {
    const std::string name(255, 'n');
    const std::string hello = encoded({}, protocol::Hello{.client = name});
    constexpr int peers = 250;
    constexpr int hellos = 20;  // one connection may cause as many lines at once
    for (int count = 0; count < peers; ++count) {
      RawPeer peer(context, endpoint("commands"));
      for (int sent = 0; sent < hellos; ++sent)
        if (const auto reply = peer.ask(hello);
            !reply || reply->error() != protocol::ErrorCode::none)
          return false;
    }
    return true;
  }
  double dropped(protocol::Client& client) {
    for (const auto& [name, value] : client.get_stats().value())
      if (name == "starling_log_lines_dropped_total") return value;
    return -1;
  }
};

TEST_F(ProgramLog, AServerWhoseStderrNobodyReadsGoesOnAndSaysLaterWhatIsMissing) {
  Program program(serve(flooded()));
  ASSERT_TRUE(program.says("ready")) << program.said();
  ASSERT_TRUE(program.shrink_stderr());
  Witness witness(context, {endpoint("commands"), endpoint("results"), endpoint("http")},
                  Witness::Ticks::by_the_clock);
  test::Random random(1);
  ASSERT_TRUE(flood_log());
  witness.move_and_expect_exact(random);
  EXPECT_GT(dropped(witness.client()), 0);
  EXPECT_TRUE(program.says(" lines of the log are missing here: "));
  witness.move_and_expect_exact(random);
  program.send_signal(SIGTERM);
  EXPECT_TRUE(program.says("stopped"));
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(ProgramLog, AServerWhoseStderrNobodyReadsStopsWhenItIsTold) {
  Program program(serve(flooded()));
  ASSERT_TRUE(program.says("ready")) << program.said();
  ASSERT_TRUE(program.shrink_stderr());
  ASSERT_TRUE(flood_log());
  program.send_signal(SIGTERM);
  ASSERT_TRUE(program.ends());
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(ProgramLog, AServerWhoseStderrIsClosedGoesOnAndCountsTheLines) {
  Program program(serve(flooded()));
  ASSERT_TRUE(program.says("ready")) << program.said();
  program.stop_reading();
  ASSERT_TRUE(flood_log());
  {
    Witness witness(context, {endpoint("commands"), endpoint("results"), endpoint("http")},
                    Witness::Ticks::by_the_clock);
    test::Random random(1);
    witness.move_and_expect_exact(random);
    EXPECT_TRUE(happens([&] { return dropped(witness.client()) >= 250 * 20; }));
  }
  program.send_signal(SIGTERM);
  ASSERT_TRUE(program.ends());
  EXPECT_EQ(program.exit_status(), 0);
}

TEST_F(ProgramLog, TextOfAClientCannotLookLikeALineOfTheLog) {
  Program program(serve({"--tick", "manual"}));
  ASSERT_TRUE(program.says("ready")) << program.said();
  RawPeer peer(context, endpoint("commands"));
  ASSERT_TRUE(peer.ask(encoded({}, protocol::Hello{.client = "a\n[error] forged\033[2J"})));
  EXPECT_TRUE(program.says("session 1 opened by \"a\\n[error] forged\\x1b[2J\"\n"))
      << program.said();
  program.send_signal(SIGTERM);
  EXPECT_EQ(program.exit_status(), 0);
}

// Writing to /dev/full fails. Symbolic links give it other names, because the ending of an output's
// name chooses the compression.
TEST_F(ProgramFaults, AReplayOntoAFullDiskExitsOneWithOneSentenceAndNoSummary) {
  const std::string trace = temporary_path("trace.csv");
  std::ofstream rows(trace);
  rows << "id,t,x,y\n";
  for (int row = 0; row < 20'000; ++row) rows << row % 50 << ',' << row / 50 << ",1,2\n";
  rows.close();
  for (const std::string name : {"out.csv", "out.csv.gz"}) {
    const std::string out = temporary_path(name);
    ASSERT_EQ(symlink("/dev/full", out.c_str()), 0);
    Program program({"replay", trace, "--columns", "id=id,time=t,x=x,y=y", "--out", out});
    EXPECT_FALSE(program.says("replayed")) << program.said();
    EXPECT_EQ(program.exit_status(), 1);
    EXPECT_NE(program.said().find("starling: " + out + " cannot be "), std::string::npos)
        << program.said();
    EXPECT_NE(program.said().find("No space left on device\n"), std::string::npos)
        << program.said();
    unlink(out.c_str());
  }
  unlink(trace.c_str());
}

}  // namespace
}  // namespace starling::stream
