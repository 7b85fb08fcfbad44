// SPDX-License-Identifier: Apache-2.0
// Tests the text of the table that `starling subscribe` shows.
#include "starling/apps/subscribe/live_table.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace starling::apps {
namespace {

using protocol::HeldList;
using protocol::ListKey;
using protocol::ListStore;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

ListStore lists_of(std::size_t count) {
  ListStore lists;
  for (std::size_t i = 0; i < count; ++i)
    lists[{.query = QueryId{i}}] = {.neighbors = {{ObjectId{100 + i}, 2.5}}, .states = {}};
  return lists;
}

TableStatus status_of(const std::string& stream) {
  TableStatus status;
  status.stream = stream;
  status.at.tick = Tick{7};
  status.at.tau_us = 125'000'000;
  status.object_count = 812;
  return status;
}

TEST(LiveTable, ShowsWhoseListWithItsNeighboursNearestFirst) {
  ListStore lists;
  lists[{.query = QueryId{4}}].neighbors = {{ObjectId{17}, 3.25}, {ObjectId{9}, 14.0}};
  const auto lines = lines_of(render_table(status_of("riders"), lists, {}));
  EXPECT_EQ(lines.front(), "riders  tick 7  125.000 s  812 objects");
  EXPECT_EQ(lines.back(), "4                     17 (3.2)  9 (14.0)  ");
}

TEST(LiveTable, AlignsWideNames) {
  ListStore lists;
  lists[{.query = QueryId{4}}].neighbors = {{ObjectId{17}, 3.25}};
  lists[{.query = QueryId{5}}].neighbors = {{ObjectId{17}, 3.25}};
  sim::NameTable names;
  names.put(4, "日本丸");
  names.put(5, "日本日本日本日本日本日本");
  names.put(17, "丸");
  const auto lines =
      lines_of(render_table(status_of("riders"), lists, {.rows = 24, .columns = 35}, names));
  EXPECT_EQ(lines[4], "日本丸                丸 (3.2)  ");
  EXPECT_EQ(lines[5], "日本日本日本日本日本  丸 (3.2)  ");
}

TEST(LiveTable, ShowsVotesAndDistancesWithoutAUnitOfVectors) {
  ListStore lists;
  lists[{.query = QueryId{4}}] = {
      .neighbors = {{ObjectId{17}, 0.012345}}, .states = {}, .vote = -3};
  lists[{.query = QueryId{5}}] = {};
  TableStatus status = status_of("classes");
  status.is_vector = true;
  status.has_votes = true;
  const auto lines = lines_of(render_table(status, lists, {}));
  EXPECT_EQ(lines[3], "query                 vote                  nearest first (distance)");
  EXPECT_EQ(lines[4], "4                     -3                    17 (0.01235)  ");
  EXPECT_EQ(lines[5], "5                     -                     -");
}

TEST(LiveTable, ShowsMeansBesideVotes) {
  ListStore lists;
  lists[{.query = QueryId{4}}] = {.neighbors = {{ObjectId{17}, 1}}, .states = {}, .mean = 0.1};
  lists[{.query = QueryId{5}}] = {.neighbors = {}, .states = {}, .mean = -1.2345678e-308};
  lists[{.query = QueryId{6}}] = {};
  TableStatus status = status_of("prices");
  status.is_vector = status.has_votes = status.has_means = true;
  const auto lines = lines_of(render_table(status, lists, {}));
  EXPECT_EQ(lines[3],
            "query                 vote                  value          nearest first (distan");
  EXPECT_EQ(lines[4], "4                     -                     0.1            17 (1)  ");
  EXPECT_EQ(lines[5], "5                     -                     -1.23457e-308  -");
  EXPECT_EQ(lines[6], "6                     -                     -              -");
}

TEST(LiveTable, ShowsTheSubjectsOfEveryObjectQueriesBesideTheirQueries) {
  ListStore lists;
  lists[{.query = QueryId{1}}] = {};
  lists[{.query = QueryId{3}, .has_subject = true, .subject = ObjectId{55}}] = {};
  lists[{.query = QueryId{4}, .has_subject = true, .subject = ObjectId{55}}] = {};
  const auto lines = lines_of(render_table(status_of("graph"), lists, {}));
  EXPECT_EQ(lines[3], "query                 subject               nearest first (metres)");
  EXPECT_EQ(lines[4], "1                     -                     -");
  EXPECT_EQ(lines[5], "3                     55                    -");
  EXPECT_EQ(lines[6], "4                     55                    -");
}

TEST(LiveTable, AnEmptyListIsADash) {
  ListStore lists;
  lists[{.query = QueryId{1}}] = {};
  EXPECT_THAT(lines_of(render_table(status_of("s"), lists, {})).back(), HasSubstr(" -"));
}

TEST(LiveTable, FitsItsSizeAndShowsTheSmallestKeys) {
  const auto lines =
      lines_of(render_table(status_of("riders"), lists_of(1000), {.rows = 10, .columns = 30}));
  EXPECT_EQ(lines.size(), 10u);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 30u);
  EXPECT_THAT(lines.back(), testing::StartsWith("5 "));
}

TEST(LiveTable, ShowsNamesWhereTheyAreKnownAndKeepsItsColumns) {
  ListStore lists;
  lists[{.query = QueryId{1}, .has_subject = true, .subject = ObjectId{55}}].neighbors = {
      {ObjectId{17}, 3.25}, {ObjectId{9}, 14.0}};
  sim::NameTable names;
  names.put(55, "stra\u00dfe");
  names.put(9, std::string(100, 'x'));
  const auto lines =
      lines_of(render_table(status_of("s"), lists, {.rows = 24, .columns = 100}, names));
  EXPECT_EQ(lines.back(), "1                     stra\u00dfe                17 (3.2)  " +
                              std::string(20, 'x') + " (14.0)  ");
}

TEST(LiveTable, CutsNoCharacterInHalf) {
  ListStore lists;
  lists[{.query = QueryId{1}}] = {};
  sim::NameTable names;
  names.put(1, "\u00df\u00df\u00df\u00df");
  const auto lines =
      lines_of(render_table(status_of("s"), lists, {.rows = 10, .columns = 3}, names));
  EXPECT_EQ(lines.back(), "\u00df\u00df\u00df");
}

TEST(LiveTable, AsksForTheIdsThatItShows) {
  const auto ids = ids_in_table(lists_of(1000), {.rows = 3, .columns = 80});
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{0, 100, 1, 101, 2, 102}));
}

TEST(LiveTable, ShowsTheRateOnceItIsMeasured) {
  TableStatus status = status_of("riders");
  EXPECT_EQ(lines_of(render_table(status, lists_of(2), {}))[1],
            "2 lists, 0 reported by this tick, 0 ticks lost, 0 restarts");
  status.ticks_per_s = 10;
  EXPECT_EQ(lines_of(render_table(status, lists_of(2), {}))[1],
            "2 lists, 0 reported by this tick, 10.0 ticks/s, 0 ticks lost, 0 restarts");
}

TEST(LiveTable, SaysNoNumberOfObjectsBeforeATickHasToldIt) {
  TableStatus status = status_of("riders");
  status.object_count.reset();
  EXPECT_EQ(lines_of(render_table(status, {}, {})).front(), "riders  tick 7  125.000 s");
}

TEST(LiveTable, CutsNoNeighbourInHalf) {
  ListStore lists;
  lists[{.query = QueryId{4}}].neighbors = {{ObjectId{17}, 3.25}, {ObjectId{9}, 14.0}};
  const auto lines = lines_of(render_table(status_of("s"), lists, {.rows = 10, .columns = 38}));
  EXPECT_EQ(lines.back(), "4                     17 (3.2)  ...");
}

TEST(LiveTable, SaysWhyNothingComes) {
  TableStatus status = status_of("riders");
  status.obstacle = "no answer from tcp://127.0.0.1:7411";
  EXPECT_EQ(lines_of(render_table(status, {}, {}))[1], status.obstacle);
}

TEST(LiveTable, LetsNoNameSteerTheTerminal) {
  const std::string table = render_table(status_of("bad\x1b[2J\rname"), {}, {});
  EXPECT_THAT(table, HasSubstr("bad\\x1b[2J\\rname"));
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_THAT(render_table(status_of("a\u009b2Jb"), {}, {}), HasSubstr("a\\u009b2Jb"));
}

TEST(LiveTable, AwayFromATerminalItDrawsWholeFramesWithoutControlSequences) {
  std::ostringstream out;
  {
    LiveTable table(out, false, std::chrono::milliseconds(1));
    table.draw(status_of("riders"), lists_of(2));
  }
  EXPECT_EQ(out.str().find('\x1b'), std::string::npos);
  EXPECT_THAT(out.str(), HasSubstr("100 (2.5)"));
}

TEST(LiveTable, OnATerminalItHidesTheCursorAndGivesItBack) {
  std::ostringstream out;
  {
    LiveTable table(out, true, std::chrono::milliseconds(1));
    table.draw(status_of("riders"), lists_of(2));
  }
  EXPECT_THAT(out.str(), testing::StartsWith("\x1b[?25l"));
  EXPECT_THAT(out.str(), testing::EndsWith("\x1b[?25h"));
}

}  // namespace
}  // namespace starling::apps
