// SPDX-License-Identifier: Apache-2.0
// Tests that the log never blocks its callers, that it drops and counts lines, and that it reports
// where lines are missing. The descriptor is a pipe whose reader is slow or gone.
#include "starling/stream/operation/dropping_log.hpp"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

constexpr std::chrono::milliseconds at_once{0};

class DroppingLogTest : public testing::Test {
 protected:
  DroppingLogTest() {
    std::signal(SIGPIPE, SIG_IGN);  // stays ignored: a thread that is left behind may still write
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    log =
        std::make_shared<DroppingLog>(DroppingLogOptions{.descriptor = ends[1], .lines_max = 100});
    logger = std::make_shared<spdlog::logger>("test", log);
    logger->set_pattern("%v");
  }
  ~DroppingLogTest() override {
    close_reader();
    logger.reset();
    log.reset();
    if (ends[1] >= 0) close(ends[1]);
  }

  void close_reader() {
    if (ends[0] >= 0) close(ends[0]);
    ends[0] = -1;
  }
  void close_writer() {
    close(ends[1]);
    ends[1] = -1;
  }

  /// Reads until the text ends with `end`, or until no more comes.
  std::string read_until(const std::string& end) {
    std::string text;
    char letter = 0;
    while (!text.ends_with(end) && read(ends[0], &letter, 1) == 1) text += letter;
    return text;
  }

  std::array<int, 2> ends{-1, -1};
  std::shared_ptr<DroppingLog> log;
  std::shared_ptr<spdlog::logger> logger;
};

TEST_F(DroppingLogTest, LinesAreWrittenInOrderAndClosingWaitsForThem) {
  for (int line = 0; line < 50; ++line) logger->info("line {}", line);
  log->close(std::chrono::duration_cast<std::chrono::milliseconds>(patience));
  close_writer();
  std::string expected;
  for (int line = 0; line < 50; ++line) expected += "line " + std::to_string(line) + "\n";
  EXPECT_EQ(read_until("never"), expected);
  EXPECT_EQ(log->dropped(), 0u);
}

TEST_F(DroppingLogTest, LinesThatNobodyReadsAreDroppedAndReportedWhereTheyAreMissing) {
  constexpr int lines = 20'000;  // far more than the pipe and the queue hold
  for (int line = 0; line < lines; ++line) logger->info("line {}", line);
  const std::uint64_t dropped = log->dropped();
  EXPECT_GT(dropped, 0u);
  // Each line that was not written is in exactly one report, between the lines around the gap.
  std::uint64_t next = 0;
  std::uint64_t reported = 0;
  while (next < lines) {
    const std::string line = read_until("\n");
    const std::uint64_t number = std::strtoull(line.c_str(), nullptr, 10);
    if (number == 0) {
      EXPECT_EQ(line, "line " + std::to_string(next++) + "\n");
      continue;
    }
    EXPECT_EQ(line, std::to_string(number) +
                        " lines of the log are missing here: they could not be written in time\n");
    reported += number;
    next += number;
  }
  EXPECT_EQ(next, std::uint64_t{lines});
  EXPECT_EQ(reported, dropped);
  logger->info("the last line");
  EXPECT_EQ(read_until("\n"), "the last line\n");
  EXPECT_EQ(log->dropped(), dropped);
}

TEST_F(DroppingLogTest, ClosingDoesNotWaitForAReaderWhoNeverComes) {
  for (int line = 0; line < 20'000; ++line) logger->info("line {}", line);
  log->close(at_once);
  const std::uint64_t dropped = log->dropped();
  logger->info("after the end");
  EXPECT_EQ(log->dropped(), dropped + 1);
  ends[1] = -1;  // stays open: the thread that is left behind may still write
}

TEST_F(DroppingLogTest, LinesWhoseReaderHasGoneAreCounted) {
  close_reader();
  for (int line = 0; line < 50; ++line) logger->info("line {}", line);
  log->close(std::chrono::duration_cast<std::chrono::milliseconds>(patience));
  EXPECT_EQ(log->dropped(), 50u);
}

TEST_F(DroppingLogTest, ControlCharactersOfClientsAreEscaped) {
  logger->info("opened by \"{}\"", "a\n[error] forged\r\t\033[2J\x7f\xc2\x9b é ü");
  EXPECT_EQ(read_until("\n"), "opened by \"a\\n[error] forged\\r\\t\\x1b[2J\\x7f\\u009b é ü\"\n");
}

}  // namespace
}  // namespace starling::stream
