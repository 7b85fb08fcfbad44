// SPDX-License-Identifier: Apache-2.0
// Tests the parsing of times, zone offsets and durations.
#include "starling/knn/base/time_text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace starling {
namespace {

struct TimeCase {
  std::string text;
  std::int64_t time_us;
};

constexpr std::int64_t hour_us = 3'600'000'000;

TEST(ParseTime, ReadsEveryDocumentedForm) {
  for (const auto& [text, time_us] :
       std::initializer_list<TimeCase>{{"0", 0},
                                       {"0.00", 0},
                                       {"12.5", 12'500'000},
                                       {"-3", -3'000'000},
                                       {"-0.5", -500'000},
                                       {".25", 250'000},
                                       {"1533099600", 1'533'099'600'000'000},
                                       {"1533099600.123456", 1'533'099'600'123'456},
                                       {"1533099600.1234569", 1'533'099'600'123'456},
                                       {"1533099600123", 1'533'099'600'123'000},
                                       {"1533099600123.4567", 1'533'099'600'123'456},
                                       {"1533099600123456", 1'533'099'600'123'456},
                                       {"99999999999", 99'999'999'999'000'000},
                                       {"100000000000", 100'000'000'000'000},
                                       {"100000000000000000", 100'000'000'000'000},
                                       {"1641168600000000000", 1'641'168'600'000'000},
                                       {"1641168600123456789", 1'641'168'600'123'456},
                                       {"1.6411686e+12", 1'641'168'600'000'000},
                                       {"1.6411686E9", 1'641'168'600'000'000},
                                       {"1641168600123456e-6", 1'641'168'600'123'456},
                                       {"1e+05", 100'000'000'000},
                                       {"+1e0", 1'000'000},
                                       {"-25e-2", -250'000},
                                       {"0e9", 0},
                                       {"2022/01/03 00:10:00", 1'641'168'600'000'000},
                                       {"2022-1-3 0:10", 1'641'168'600'000'000},
                                       {"20220103T001000Z", 1'641'168'600'000'000},
                                       {"20220103T0010", 1'641'168'600'000'000},
                                       {"20220103T001000.5", 1'641'168'600'500'000},
                                       {"2022-01-03 00:10:00 UTC", 1'641'168'600'000'000},
                                       {"2022-01-03 00:10:00.25 UTC", 1'641'168'600'250'000},
                                       {"2022-01-03 00:10:00 gmt", 1'641'168'600'000'000},
                                       {"2022-01-03 01:10:00 +0100", 1'641'168'600'000'000},
                                       {"2022-01-03  00:10:00Z", 1'641'168'600'000'000},
                                       {"2022-01-03 12:10:00 AM", 1'641'168'600'000'000},
                                       {"2022-01-03 12:10 pm", 1'641'211'800'000'000},
                                       {"03.01.2022 00:10:00", 1'641'168'600'000'000},
                                       {"3.1.2022", 1'641'168'000'000'000},
                                       {"1970-01-01", 0},
                                       {"1970-01-02", 24 * hour_us},
                                       {"1969-12-31T23:59:59", -1'000'000},
                                       {"2022-01-03T00:00:03", 1'641'168'003'000'000},
                                       {"2022-01-03 00:00:03", 1'641'168'003'000'000},
                                       {"2022-01-03T00:00", 1'641'168'000'000'000},
                                       {"20220103T0:00", 1'641'168'000'000'000},
                                       {"2022-01-03T00:00:03.5", 1'641'168'003'500'000},
                                       {"2022-01-03T00:00:03,5Z", 1'641'168'003'500'000},
                                       {"2022-01-03T00:00:03.123456789Z", 1'641'168'003'123'456},
                                       {"2016-03-22T19:26:01-05:00", 1'458'692'761'000'000},
                                       {"2016-03-22T19:26:01-0500", 1'458'692'761'000'000},
                                       {"2016-03-22T19:26:01-05", 1'458'692'761'000'000},
                                       {"2016-03-23T05:56:01+05:30", 1'458'692'761'000'000},
                                       {"2020-02-29T00:00:00Z", 1'582'934'400'000'000},
                                       {"2016-12-31T23:59:60Z", 1'483'228'800'000'000}}) {
    const auto parsed = parse_time_us(text, {});
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, time_us) << text;
  }
}

TEST(ParseTime, RefusesWhatIsNoTime) {
  for (const std::string text : {"",
                                 "-",
                                 ".",
                                 "noon",
                                 "12x",
                                 "1e",
                                 "1e+",
                                 "1e41",
                                 "e9",
                                 "1.5e3x",
                                 "2022-01-03 13:10 PM",
                                 "2022-01-03 00:10 AM",
                                 "2022-01-03 00:10 CET",
                                 "2022/01-03",
                                 "2022.01.03",
                                 "31.12.22",
                                 "20220103 001000",
                                 "00:01:30",
                                 "2022-13-01",
                                 "2022-02-29",
                                 "2021-00-10",
                                 "2022-01-03T24:00:00",
                                 "2022-01-03T12:60",
                                 "2022-01-03T12",
                                 "2022-01-03T12:00:61",
                                 "2022-01-03T12:00:00.",
                                 "2022-01-03T12:00:00+5",
                                 "2022-01-03T12:00:00+05:3",
                                 "2022-01-03T12:00:00+05:30x",
                                 "2022-01-03T12:00:00 UTC+1",
                                 "03/01/2022 00:00:00",
                                 "99999999999999999999"})
    EXPECT_FALSE(parse_time_us(text, {})) << text;
}

TEST(ParseTime, AnExplicitUnitOverridesTheMagnitude) {
  EXPECT_EQ(parse_time_us("5000", {.unit = TimeUnit::milliseconds}), 5'000'000);
  EXPECT_EQ(parse_time_us("5000", {.unit = TimeUnit::microseconds}), 5000);
  EXPECT_EQ(parse_time_us("200000000000", {.unit = TimeUnit::seconds}), 200'000'000'000'000'000);
}

TEST(ParseTime, TheOrderOfDayAndMonthIsTold) {
  const TimeRules day_first{.date_order = DateOrder::day_first};
  const TimeRules month_first{.date_order = DateOrder::month_first};
  constexpr std::int64_t third_of_january = 1'641'168'000'000'000;
  for (const std::string text : {"03/01/2022", "3/1/2022", "03-01-2022", "03.01.2022"})
    EXPECT_EQ(parse_time_us(text, day_first), third_of_january) << text;
  for (const std::string text : {"01/03/2022", "1/3/2022", "01-03-2022", "03.01.2022"})
    EXPECT_EQ(parse_time_us(text, month_first), third_of_january) << text;
  EXPECT_EQ(parse_time_us("2022-01-03", month_first), third_of_january);
  EXPECT_EQ(parse_time_us("13/01/2022", month_first), std::nullopt);
  EXPECT_EQ(parse_time_us("01/13/2022", day_first), std::nullopt);
  EXPECT_EQ(parse_time_us("03/01-2022", day_first), std::nullopt);
}

TEST(ParseTime, AClockFromZeroIsATimeOnlyWhereItIsTold) {
  const TimeRules sumo{.unit = TimeUnit::seconds, .has_clock_from_zero = true};
  EXPECT_EQ(parse_time_us("00:01:30", sumo), 90'000'000);
  EXPECT_EQ(parse_time_us("00:01:30.50", sumo), 90'500'000);
  EXPECT_EQ(parse_time_us("1:00:00:10", sumo), 24 * hour_us + 10'000'000);
  EXPECT_EQ(parse_time_us("12.5", sumo), 12'500'000);
  for (const std::string text : {"00:01", "x:00:00:10", "-1:00:00:10", "00:61:00", "1:2:3:4:5"})
    EXPECT_EQ(parse_time_us(text, sumo), std::nullopt) << text;
}

TEST(ParseTime, TheUtcOffsetAppliesToZonelessTimesOnly) {
  const TimeRules rules{.utc_offset_us = -5 * hour_us};
  EXPECT_EQ(parse_time_us("1970-01-01T00:00:00", rules), 5 * hour_us);
  EXPECT_EQ(parse_time_us("1970-01-01T00:00:00Z", rules), 0);
  EXPECT_EQ(parse_time_us("1970-01-01T00:00:00+01:00", rules), -hour_us);
  EXPECT_EQ(parse_time_us("0", rules), 0);
}

TEST(ParseIsoTime, ATimeWithAZoneIsExactToTheMicrosecond) {
  EXPECT_EQ(parse_iso_time_us("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_iso_time_us("2016-07-01T01:59:59.2500009+02:00"), 1'467'331'199'250'000);
  EXPECT_EQ(parse_iso_time_us("2016-06-30T20:29:59.25-03:30"), 1'467'331'199'250'000);
  EXPECT_EQ(parse_iso_time_us("1969-12-31T23:59:59.999999Z"), -1);
  EXPECT_EQ(parse_iso_time_us("2016-12-31T23:59:60Z"), parse_iso_time_us("2017-01-01T00:00:00Z"));
}

TEST(ParseIsoTime, OtherTextIsNoTime) {
  for (const char* text : {"",
                           "0",
                           "2016-06-30",
                           "2016-06-30T23:59:59",
                           "2016-06-31T00:00:00Z",
                           "2016-6-30T23:59:59Z",
                           "2016-06-30T3:59:59Z",
                           "2016/06/30T23:59:59Z",
                           "2016-06-30T23:59:59 UTC",
                           "20160630T235959Z",
                           "2023-02-29T00:00:00Z",
                           "2016-13-01T00:00:00Z",
                           "2016-06-30T24:00:00Z",
                           "2016-06-30T23:60:00Z",
                           "2016-06-30T23:59:61Z",
                           "2016-06-30T23:59:59.Z",
                           "2016-06-30T23:59:59Zx",
                           "2016-06-30T23:59:59+2:00",
                           "2016-06-30T23:59:59+24:00",
                           "-016-06-30T23:59:59Z",
                           "2016-06-30T23:59:59+02:"})
    EXPECT_EQ(parse_iso_time_us(text), std::nullopt) << text;
}

TEST(ParseUtcOffset, ReadsItsFormsAndNoOther) {
  EXPECT_EQ(parse_utc_offset_us("Z"), 0);
  EXPECT_EQ(parse_utc_offset_us("+01:00"), hour_us);
  EXPECT_EQ(parse_utc_offset_us("-0530"), -5 * hour_us - hour_us / 2);
  EXPECT_EQ(parse_utc_offset_us("+14"), 14 * hour_us);
  for (const std::string text : {"", "01:00", "+1", "+01:60", "+24:00", "+01:00:00", "CET"})
    EXPECT_FALSE(parse_utc_offset_us(text)) << text;
}

TEST(ParseDuration, NeedsANumberAndAUnit) {
  EXPECT_EQ(parse_duration_us("1s"), 1'000'000);
  EXPECT_EQ(parse_duration_us("100ms"), 100'000);
  EXPECT_EQ(parse_duration_us("250us"), 250);
  EXPECT_EQ(parse_duration_us("0.5s"), 500'000);
  EXPECT_EQ(parse_duration_us("2m"), 120'000'000);
  EXPECT_EQ(parse_duration_us("2min"), 120'000'000);
  EXPECT_EQ(parse_duration_us("1h"), hour_us);
  EXPECT_EQ(parse_duration_us("1d"), 24 * hour_us);
  for (const std::string text : {"", "1", "s", "-1s", "1 s", "1sec", "1e300d", "nans", "infs"})
    EXPECT_FALSE(parse_duration_us(text)) << text;
}

TEST(DurationText, HasTheLargestUnitThatKeepsItWhole) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(250), "250us");
  EXPECT_EQ(duration_text(1'000), "1ms");
  EXPECT_EQ(duration_text(1'500'000), "1500ms");
  EXPECT_EQ(duration_text(90'000'000), "90s");
  EXPECT_EQ(duration_text(120'000'000), "2min");
  EXPECT_EQ(duration_text(hour_us), "1h");
  EXPECT_EQ(duration_text(48 * hour_us), "2d");
  for (const std::int64_t us : {1, 999, 60'000'000, 86'400'000})
    EXPECT_EQ(parse_duration_us(duration_text(us)), us);
}

TEST(IsoTimeText, ReadsBackToTheMicrosecond) {
  EXPECT_EQ(iso_time_text(1'458'692'761'000'000), "2016-03-23T00:26:01Z");
  EXPECT_EQ(iso_time_text(-1), "1969-12-31T23:59:59.999999Z");
  for (const std::int64_t time_us : {0L, 1L, 951'782'400'000'001L, -62'135'596'800'000'000L})
    EXPECT_EQ(parse_time_us(iso_time_text(time_us), {}), time_us);
}

TEST(IsoTimeText, DropsTheDigitsThatAreNotWanted) {
  EXPECT_EQ(iso_time_text(1'458'692'761'009'870, TimeDigits::seconds), "2016-03-23T00:26:01Z");
  EXPECT_EQ(iso_time_text(-1, TimeDigits::milliseconds), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(iso_time_text(0, TimeDigits::microseconds), "1970-01-01T00:00:00.000000Z");
}

TEST(IsoTimeText, YearsBeyondThoseOfTheStandardLibraryAreRight) {
  EXPECT_EQ(iso_time_text(std::int64_t{1} << 62), "148108-07-06T14:00:27.387904Z");
  EXPECT_EQ(iso_time_text(-(std::int64_t{1} << 62)), "-144169-06-28T09:59:32.612096Z");
  EXPECT_EQ(iso_time_text(253'402'300'800'000'000), "10000-01-01T00:00:00Z");
}

}  // namespace
}  // namespace starling
