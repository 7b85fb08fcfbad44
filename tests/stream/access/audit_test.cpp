// SPDX-License-Identifier: Apache-2.0
// Tests the lines of the audit log: that they are JSON, whatever clients send, and bounded.
#include "starling/stream/access/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

namespace starling::stream {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class AuditLog : public testing::Test {
 protected:
  AuditOptions options() {
    return {.write = [this](const std::string& line) { lines.push_back(line); },
            .lines = {.of_one = {.burst = 3, .interval_us = 1'000'000},
                      .of_all = {.burst = 10, .interval_us = 1'000'000}},
            .wall_now_us = [] { return std::int64_t{1'795'635'000'000'007}; },
            .steady_now_us = [this] { return now_us; }};
  }

  std::vector<std::string> lines;
  std::int64_t now_us = 1;
  Audit audit{options()};
};

TEST_F(AuditLog, ALineSaysWhenWhoAndWhat) {
  audit.refused("dispatch", "EndStream", "needs the role query", 42);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0],
            R"({"time":"2026-11-25T19:30:00.000007Z","event":"refused","principal":"dispatch",)"
            R"("request":"EndStream","sentence":"needs the role query","connection":42})");
}

TEST_F(AuditLog, TextOfClientsStaysWithinItsLineAndCommandsNoTerminal) {
  const std::string hostile = "a\"\n\x1b[31m\x7f\xff\xc2\x85 \\ \u00e4";
  audit.refused(hostile, hostile, hostile, 1);
  audit.refused_topic("a", std::string("\u00e4\xc2\x9b\0", 5));
  ASSERT_THAT(lines, SizeIs(2));
  simdjson::dom::parser parser;
  for (const std::string& line : lines) EXPECT_EQ(parser.parse(line).error(), simdjson::SUCCESS);
  EXPECT_THAT(lines, Each(AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b")),
                                Not(HasSubstr("\x7f")), Not(HasSubstr("\xc2\x9b")))));
  EXPECT_THAT(lines[1], HasSubstr("\"topic\":\"\u00e4\\u009b\\u0000\""));
}

TEST_F(AuditLog, OnePrincipalCausesFewLinesHoweverOftenItConnects) {
  for (std::uint64_t connection = 0; connection < 10; ++connection) {
    audit.admitted("a", "commands");
    audit.refused("a", "Remove", "no", connection);
    audit.refused_topic("a", "b");
  }
  EXPECT_THAT(lines, SizeIs(3));
  EXPECT_EQ(audit.left_out(), 27u);
  audit.refused("b", "Remove", "no", 2);
  EXPECT_THAT(lines, SizeIs(4));
  now_us += 1'000'000;
  audit.refused("a", "Remove", "no", 1);
  EXPECT_THAT(lines, SizeIs(5));
}

TEST_F(AuditLog, ALineSaysHowManyLinesOfAPrincipalWereLeftOut) {
  for (int i = 0; i < 1237; ++i) audit.refused("mallory", "Remove", "no", 1);
  audit.expire();
  EXPECT_THAT(lines, SizeIs(3));
  now_us += 10'000'000;
  audit.expire();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[3], R"({"time":"2026-11-25T19:30:00.000007Z","event":"lines_left_out",)"
                      R"("principal":"mallory","lines":1234,"seconds":10})");
  now_us += 60'000'000;
  audit.expire();
  audit.close();
  EXPECT_THAT(lines, SizeIs(4));
}

TEST_F(AuditLog, TheEndSaysHowManyLinesWereLeftOut) {
  for (int i = 0; i < 5; ++i) audit.refused("mallory", "Remove", "no", 1);
  audit.close();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[3], HasSubstr("\"lines\":2,"));
}

TEST_F(AuditLog, AllPrincipalsTogetherAreBoundedAndTheFirstLineOfEachIsWritten) {
  for (int i = 0; i < 100; ++i)
    for (int line = 0; line < 3; ++line) audit.refused(std::to_string(i), "Remove", "no", 1);
  EXPECT_THAT(lines, SizeIs(10 + 100 - 4));  // the first ten lines are of four principals
  for (int i = 0; i < 100; ++i)
    EXPECT_THAT(lines, Contains(HasSubstr("\"principal\":\"" + std::to_string(i) + '"')));
}

TEST_F(AuditLog, StrangersHideNoLineOfAPrincipal) {
  for (int i = 0; i < 100; ++i) audit.unknown_token("10.0.0." + std::to_string(i));
  EXPECT_THAT(lines, SizeIs(10));
  audit.refused("a", "Remove", "no", 1);
  EXPECT_THAT(lines, SizeIs(11));
  now_us += 10'000'000;
  audit.expire();
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_THAT(lines[11], HasSubstr(R"("lines_left_out","lines":90,"seconds":10)"));
}

TEST_F(AuditLog, PeersWithUnknownKeysShareTheirLines) {
  for (std::uint8_t i = 0; i < 10; ++i) audit.unknown_key({i}, "commands");
  EXPECT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr("\"public\":\"0000000000000000000000000000000000000000\""));
  audit.unknown_token("10.0.0.1");
  EXPECT_THAT(lines, SizeIs(4));
}

TEST_F(AuditLog, ReloadsAreAlwaysTold) {
  for (int i = 0; i < 10; ++i) audit.reloaded(3, {"a", "b"});
  EXPECT_THAT(lines, SizeIs(10));
  EXPECT_THAT(lines[0], HasSubstr("\"principals\":3,\"revoked\":[\"a\",\"b\"]"));
  audit.reload_failed("the keys file \"x\" is bad");
  EXPECT_THAT(lines.back(), HasSubstr("the keys file \\\"x\\\" is bad"));
}

TEST(Audit, WithoutALogNothingIsCounted) {
  Audit audit;
  for (int i = 0; i < 100; ++i) audit.refused("a", "Remove", "no", 1);
  audit.reloaded(1, {});
  EXPECT_EQ(audit.left_out(), 0u);
}

}  // namespace
}  // namespace starling::stream
