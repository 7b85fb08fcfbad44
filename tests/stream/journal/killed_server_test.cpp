// SPDX-License-Identifier: Apache-2.0
// Kills the program at random moments while a client sends rows, and looks for every row that it
// acknowledged.
#include <chrono>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/support/program.hpp"

namespace starling::stream {
namespace {

class KilledServer : public ProgramTest, public testing::WithParamInterface<const char*> {};

TEST_P(KilledServer, HasEveryAcknowledgedRowAfterItsRestart) {
  constexpr int kills = 6;
  constexpr std::uint64_t rows = 200;
  const JournalFolder folder;
  test::Random random(7);
  std::uint64_t acknowledged = 0;  // objects 0 to this are there, all but this one
  for (int i = 0; i <= kills; ++i) {
    std::filesystem::remove(endpoints_path);
    Program program(serve({"--tick", "5ms", "--journal", folder.path(), "--durability", GetParam(),
                           "--objects-max", "1000000"}));
    ASSERT_TRUE(program.says("ready:")) << program.said();
    protocol::Client client(context, {.commands = endpoint("commands"),
                                      .name = "test",
                                      .timeout_ms = 1000,
                                      .connect_timeout_ms = 10'000,
                                      .reconnect_after_ms = 500});
    for (std::uint64_t id = 0; id < acknowledged; id += 500) {
      std::vector<std::uint64_t> ids;
      for (std::uint64_t each = id; each < std::min(id + 500, acknowledged); ++each)
        ids.push_back(each);
      const auto found = client.objects(ids).value();
      ASSERT_TRUE(found.missing.empty())
          << "object " << to_number(found.missing.front()) << " is lost after kill " << i;
    }
    if (i == kills) break;
    std::thread killer([&, wait_us = 1000 * random.between(5, 120)] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
      program.send_signal(SIGKILL);
    });
    try {
      for (;;) {
        Fixes fixes;
        for (std::uint64_t row = 0; row < rows; ++row)
          fixes.add(acknowledged + row, 1, static_cast<double>(row), 0);
        const auto reply = client.update(fixes.batch());
        if (!reply) break;
        ASSERT_EQ(reply->accepted, rows);
        acknowledged += rows;
      }
    } catch (const protocol::TimeoutError&) {
    }
    killer.join();
    program.exit_status();
  }
  EXPECT_GT(acknowledged, 0u);
  std::printf("%s: %llu rows were acknowledged before %d kills\n", GetParam(),
              static_cast<unsigned long long>(acknowledged), kills);
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
