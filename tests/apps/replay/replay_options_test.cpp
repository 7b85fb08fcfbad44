// SPDX-License-Identifier: Apache-2.0
// Tests the flags of `starling replay`: which ReplayPlan they give, and which error refuses wrong
// flags.
#include "starling/apps/replay/replay_options.hpp"

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

using testing::HasSubstr;

std::string refusal(const ReplayFlags& flags) {
  try {
    plan_replay(flags);
  } catch (const sim::UsageError& error) {
    return error.what();
  }
  return {};
}

ReplayFlags with(std::string ReplayFlags::*flag, const std::string& text) {
  ReplayFlags flags;
  flags.*flag = text;
  return flags;
}

TEST(ReplayOptions, TheDefaultsReplayEverythingAsFastAsItGoes) {
  const ReplayPlan plan = plan_replay(ReplayFlags());
  EXPECT_EQ(plan.tick_us, 1'000'000);
  EXPECT_FALSE(plan.speed);
  EXPECT_EQ(plan.sort.order, sim::RowOrder::time);
  EXPECT_EQ(plan.sort.memory_bytes, std::size_t{256} << 20);
  EXPECT_TRUE(plan.query_file.empty());
  EXPECT_EQ(plan.on, ReportOn::distance);
  EXPECT_EQ(plan.age_max_us, Filter::any_age);
  EXPECT_EQ(plan.object_ttl_us, ObjectTableOptions::never_us);
  EXPECT_FALSE(plan.trace.space);
  EXPECT_EQ(plan.connect_timeout_ms, 5000);
}

TEST(ReplayOptions, TimesAndDurationsBecomeMicroseconds) {
  ReplayFlags flags;
  flags.from = "1970-01-01T01:00:00";
  flags.until = "90";
  flags.utc_offset = "+01:00";
  flags.tick = "250ms";
  flags.max_age = "5m";
  flags.distance_max = "2.5";
  flags.tags_required = "0x5";
  flags.tags_forbidden = "8";
  flags.speed = "2.5";
  flags.origin = "1.5,-2";
  flags.space = "planar3";
  const ReplayPlan plan = plan_replay(flags);
  EXPECT_EQ(plan.trace.from_us, 0);
  EXPECT_EQ(plan.trace.to_us, 90'000'000);
  EXPECT_EQ(plan.tick_us, 250'000);
  EXPECT_EQ(plan.age_max_us, 300'000'000);
  EXPECT_EQ(plan.distance_max_m, 2.5);
  EXPECT_EQ(plan.tags, (TagFilter{5, 8}));
  EXPECT_EQ(plan.speed, 2.5);
  EXPECT_EQ(plan.origin, (Position{1.5, -2, 0}));
  EXPECT_EQ(plan.trace.space, Space::planar3);
}

TEST(ReplayOptions, OnCountsWithChangesOnly) {
  ReplayFlags flags = with(&ReplayFlags::out, "results.csv");
  flags.on = "membership";
  EXPECT_EQ(plan_replay(flags).on, ReportOn::distance) << "whole lists need every distance";
  flags.changes = true;
  EXPECT_EQ(plan_replay(flags).on, ReportOn::membership);
}

TEST(ReplayOptions, ARefusalNamesTheFlag) {
  EXPECT_THAT(refusal(with(&ReplayFlags::tick, "0s")), HasSubstr("--tick: '0s' is not a positive"));
  EXPECT_THAT(refusal(with(&ReplayFlags::tick, "1")), HasSubstr("--tick: '1'"));
  EXPECT_THAT(refusal(with(&ReplayFlags::connect_timeout, "soon")),
              HasSubstr("--connect-timeout: 'soon' is not a positive"));
  EXPECT_THAT(refusal(with(&ReplayFlags::max_age, "old")), HasSubstr("--max-age: 'old'"));
  EXPECT_THAT(refusal(with(&ReplayFlags::object_ttl, "-1s")), HasSubstr("--object-ttl: '-1s'"));
  EXPECT_THAT(refusal(with(&ReplayFlags::from, "noon")), HasSubstr("--from: 'noon' is not a time"));
  EXPECT_THAT(refusal(with(&ReplayFlags::until, "noon")),
              HasSubstr("--until: 'noon' is not a time"));
  EXPECT_THAT(refusal(with(&ReplayFlags::utc_offset, "CET")), HasSubstr("--utc-offset: 'CET'"));
  EXPECT_THAT(refusal(with(&ReplayFlags::speed, "0")), HasSubstr("--speed: '0' is not a positive"));
  EXPECT_THAT(refusal(with(&ReplayFlags::origin, "1,2,3,4")), HasSubstr("--origin: '1,2,3,4'"));
  ReplayFlags changes;
  changes.changes = true;
  EXPECT_THAT(refusal(changes), HasSubstr("--changes says what --out writes"));
}

TEST(ReplayOptions, WhatTheServerChoosesIsNotGivenToAReplayIntoIt) {
  ReplayFlags flags = with(&ReplayFlags::commands, "tcp://127.0.0.1:7411");
  EXPECT_EQ(refusal(flags), "");
  flags.object_ttl = "10s";
  EXPECT_THAT(refusal(flags), HasSubstr("are flags of the server"));
}

}  // namespace
}  // namespace starling::apps
