// SPDX-License-Identifier: Apache-2.0
// Tests what `starling top` computes from two samples of a server's metrics, and how it shows it.
#include "starling/apps/top/server_view.hpp"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/apps/shared/text/text_width.hpp"
#include "starling/apps/top/view_text.hpp"

namespace starling::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

protocol::StatValues sample(double ticks, double accepted, double future, double used) {
  return {{"starling_ticks_total", ticks},
          {"starling_objects", 3},
          {"starling_rows_total{outcome=\"accepted\"}", accepted},
          {"starling_rows_total{outcome=\"late\"}", 7},
          {"starling_rows_total{outcome=\"future\"}", future},
          {"starling_rows_total{outcome=\"too_many_names\"}", 0},
          {"starling_tick_stage_seconds_sum{stage=\"build\"}", ticks * 0.002},
          {"starling_tick_stage_seconds_count{stage=\"build\"}", ticks},
          {"starling_limit{name=\"credit-rows\"}", 100},
          {"starling_limit_used{name=\"credit-rows\"}", used},
          {"starling_limit{name=\"names-max\"}", 1000},
          {"starling_limit_used{name=\"names-max\"}", 900},
          {"starling_limit{name=\"rows-max\"}", 5},
          {"starling_limit{name=\"subscriber-ticks-max\"}", 0},
          {"starling_limit_used{name=\"subscriber-ticks-max\"}", 1}};
}

TEST(ServerView, HasRatesOfTheTimeBetweenTheSamples) {
  const ServerView view = view_of(sample(100, 1000, 2, 0), sample(120, 6000, 3, 0), 2);
  EXPECT_EQ(view.ticks.per_s, 10);
  EXPECT_EQ(view.accepted.per_s, 2500);
  EXPECT_EQ(view.late.total, 7);
  EXPECT_EQ(view.late.per_s, 0);
  EXPECT_EQ(view.rejected.total, 3);
  EXPECT_EQ(view.rejected.per_s, 0.5);
  ASSERT_EQ(view.reasons.size(), 1u);
  EXPECT_EQ(view.reasons[0].name, "future");
  ASSERT_EQ(view.stages.size(), 9u);
  EXPECT_EQ(view.stages[1].name, "build");
  EXPECT_NEAR(view.stages[1].ms, 2, 1e-9);
  EXPECT_TRUE(std::isnan(view.stages[2].ms));
}

TEST(ServerView, HasNoRatesOfOneSampleOrAcrossARestart) {
  EXPECT_TRUE(std::isnan(view_of(sample(1, 1, 0, 0), sample(1, 1, 0, 0), 0).ticks.per_s));
  const ServerView view = view_of(sample(100, 1000, 2, 0), sample(3, 10, 1, 0), 2);
  EXPECT_TRUE(view.is_restarted);
  EXPECT_TRUE(std::isnan(view.accepted.per_s));
  EXPECT_TRUE(std::isnan(view.rejected.per_s));
  EXPECT_EQ(view.accepted.total, 10);
}

TEST(ServerView, ListsLimitsThatHaveALevelTheNearestFirst) {
  const ServerView view = view_of({}, sample(1, 1, 0, 91), 1);
  ASSERT_EQ(view.levels.size(), 2u);
  EXPECT_EQ(view.levels[0].name, "credit-rows");
  EXPECT_TRUE(view.levels[0].is_nearly_reached());
  EXPECT_EQ(view.levels[1].name, "names-max");
  EXPECT_FALSE(view.levels[1].is_nearly_reached());
}

TEST(ViewText, SaysFirstThatTheLogHasNoRoomSinceWhenAndWhatToDo) {
  const ViewHead head{.server = "starling", .endpoint = "tcp://x:1", .space = "planar2"};
  protocol::StatValues values = sample(1, 1, 0, 0);
  const auto text_of = [&] {
    return view_text(head, view_of({}, values, 1), {.rows = 40, .columns = 80}, false);
  };
  values.emplace_back("starling_journal_full_seconds", 0);
  EXPECT_THAT(text_of(), Not(HasSubstr("the log")));
  values.back().second = 41.7;
  values.emplace_back("starling_journal_free_bytes", 3 << 20);
  EXPECT_THAT(text_of(),
              HasSubstr("planar2\n! the log has had no room for 42 s: changes are refused, and no "
                        "tick begins\n! free space on the disk of the server's --journal: 3 MiB "
                        "are free\n"));
  EXPECT_THAT(view_json(head, view_of({}, values, 1)),
              HasSubstr(R"("log_full_s":41.7,"log_free_bytes":3145728)"));
}

constexpr std::string_view red = "\x1b[1;31m";

TEST(ViewText, MarksNearlyReachedLimitsWithAndWithoutColours) {
  const ViewHead head{.server = "starling", .endpoint = "tcp://x:1", .space = "planar2"};
  const ServerView view = view_of({}, sample(1, 1, 0, 91), 1);
  const std::string plain = view_text(head, view, {.rows = 40, .columns = 80}, false);
  EXPECT_THAT(plain,
              HasSubstr("\n! credit-rows    91   100  91.0\n  names-max     900  1000  90.0\n"));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(view_text(head, view, {.rows = 40, .columns = 80}, true),
              HasSubstr("\n" + std::string(red) + "! credit-rows    91   100  91.0\x1b[0m\n"));
}

TEST(ViewText, FitsTheScreenAndLetsNoNameSteerIt) {
  const ViewHead head{.server = "bad\x1b[2J日本丸",
                      .endpoint = "tcp://x:1",
                      .space = "planar2",
                      .obstacle = "no answer"};
  const ServerView view = view_of({}, sample(1, 1, 4, 91), 1);
  const std::string text = view_text(head, view, {.rows = 6, .columns = 15}, false);
  std::size_t rows = 0;
  for (std::size_t begin = 0; begin < text.size(); ++rows) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(columns_of(text.substr(begin, end - begin)), 15u);
    begin = end + 1;
  }
  EXPECT_EQ(rows, 6u);
  EXPECT_THAT(text, HasSubstr("! no answer\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ViewText, JsonHasNullForARateThatIsNotKnown) {
  const std::string json = view_json({}, view_of({}, sample(5, 1, 4, 91), 0));
  EXPECT_THAT(json, HasSubstr(R"("ticks":{"total":5,"per_s":null})"));
  EXPECT_THAT(json, HasSubstr(R"("credit-rows":{"used":91,"limit":100,"nearly_reached":true})"));
  EXPECT_THAT(json, HasSubstr(R"("reasons":{"future":{"total":4,"per_s":null}})"));
}

}  // namespace
}  // namespace starling::apps
