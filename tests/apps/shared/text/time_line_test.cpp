// SPDX-License-Identifier: Apache-2.0
// Tests how tables show the time of a tick.
#include "starling/apps/shared/text/time_line.hpp"

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

TEST(TimeLine, WritesDatesInUtcAndShortTimesInSeconds) {
  EXPECT_EQ(format_time(0), "0.000 s");
  EXPECT_EQ(format_time(-1'500'000), "-1.500 s");
  EXPECT_EQ(format_time(1'641'168'000'123'000), "2022-01-03 00:00:00.123 UTC");
}

}  // namespace
}  // namespace starling::apps
