// SPDX-License-Identifier: Apache-2.0
// Tests the file that `starling serve --trace` writes.
#include "starling/stream/operation/tick_trace.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TickTraceTest : public ::testing::Test {
 protected:
  TickTraceTest() { std::filesystem::remove(path_); }
  ~TickTraceTest() override { std::filesystem::remove(path_); }

  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  /// Returns the time at which a stage of tick 1 begins.
  std::int64_t begin_us(const std::string& stage) const {
    const std::regex event("\"name\":\"" + stage + "\",[^}]*\"ts\":([0-9]+)[^}]*\"tick\":1\\}");
    std::smatch found;
    const std::string all = text();
    EXPECT_TRUE(std::regex_search(all, found, event)) << stage;
    return found.empty() ? 0 : std::stoll(found[1]);
  }

  const std::string path_ = ::testing::TempDir() + "starling_tick_trace_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(TickTraceTest, HasTheStagesOfEachTickInTheOrderOfTheirTimes) {
  ServerOptions options = manual_options();
  options.trace_path = path_;
  RunningServer server(options);
  {
    auto client = server.client();
    Fixes fixes;
    fixes.add(1, 1, 0, 0);
    ASSERT_TRUE(client.update(fixes.batch()));
    ASSERT_TRUE(client.put_stream({.name = "all"}));
    ASSERT_TRUE(client.put_queries({.stream = "all", .queries = {nearest_to(1, 1, 0, 0)}}));
    ASSERT_TRUE(client.advance_tick(1));
  }
  server.stop();
  EXPECT_THAT(text(), StartsWith("["));
  EXPECT_THAT(text(), EndsWith("\n]\n"));
  EXPECT_LE(begin_us("begin"), begin_us("sort by stream"));
  EXPECT_LE(begin_us("sort by stream"), begin_us("encode"));
  EXPECT_LE(begin_us("encode"), begin_us("sent"));
  EXPECT_THAT(text(), HasSubstr("apply updates"));
}

TEST_F(TickTraceTest, HasTheEnginesStagesWhereTheyWere) {
  TickTrace(path_, 1).tick(
      {.tick = Tick{1},
       .begun_us = 1000,
       .stages = {.copy_in_ms = 1, .build_ms = 2, .search_ms = 3, .diff_ms = 4, .copy_out_ms = 5},
       .ends = {.copied_ahead = {{500, 700}},
                .copied_in_us = 5'000,
                .computed_us = 20'000,
                .copied_out_us = 40'000}});
  EXPECT_EQ(begin_us("copy in ahead"), 500);
  EXPECT_EQ(begin_us("copy in"), 4'000);
  EXPECT_EQ(begin_us("diff"), 16'000);
  EXPECT_EQ(begin_us("search"), 13'000);
  EXPECT_EQ(begin_us("build"), 11'000);
  EXPECT_EQ(begin_us("copy out"), 35'000);
}

TEST_F(TickTraceTest, EndsAfterItsTicks) {
  TickTrace trace(path_, 2);
  for (const std::uint64_t tick : {1u, 2u, 3u})
    trace.tick({.tick = Tick{tick}, .stages = {}, .ends = {}});
  trace.updates(1, 2, 3);
  EXPECT_THAT(text(), HasSubstr("\"tick\":2"));
  EXPECT_THAT(text(), Not(HasSubstr("\"tick\":3")));
  EXPECT_THAT(text(), EndsWith("\n]\n"));
}

TEST_F(TickTraceTest, IsRefusedWhereNoFileCanBe) {
  EXPECT_THAT([] { TickTrace("/nowhere/at/all", 1); },
              ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("/nowhere/at/all")));
}

}  // namespace
}  // namespace starling::stream
