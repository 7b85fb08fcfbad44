// SPDX-License-Identifier: Apache-2.0
// Tests the readers of times, durations and percent-encoded text, and the writer of JSON.
#include "starling/stream/http/value_text.hpp"

#include <gtest/gtest.h>

#include "starling/stream/http/json_text.hpp"

namespace starling::stream {
namespace {

TEST(HttpValues, IsoTimesAreExactToTheMicrosecond) {
  EXPECT_EQ(parse_iso_time_us("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_iso_time_us("2016-06-30T23:59:59.25Z"), 1'467'331'199'250'000);
  EXPECT_EQ(parse_iso_time_us("2016-07-01T01:59:59.2500009+02:00"), 1'467'331'199'250'000);
  EXPECT_EQ(parse_iso_time_us("2016-06-30T20:29:59.25-03:30"), 1'467'331'199'250'000);
  EXPECT_EQ(parse_iso_time_us("1969-12-31T23:59:59.999999Z"), -1);
  EXPECT_EQ(parse_iso_time_us("2016-12-31T23:59:60Z"), parse_iso_time_us("2017-01-01T00:00:00Z"));
  EXPECT_EQ(parse_iso_time_us("2024-02-29T00:00:00Z"), 1'709'164'800'000'000);
}

TEST(HttpValues, OtherTextIsNoTime) {
  for (const char* text :
       {"", "2016-06-30", "2016-06-30T23:59Z", "2016-06-30T23:59:59", "2016-06-30 23:59:59Z",
        "2016-06-31T00:00:00Z", "2023-02-29T00:00:00Z", "2016-13-01T00:00:00Z",
        "2016-06-30T24:00:00Z", "2016-06-30T23:60:00Z", "2016-06-30T23:59:61Z",
        "2016-06-30T23:59:59.Z", "2016-06-30T23:59:59Zx", "2016-06-30T23:59:59+2:00",
        "2016-06-30T23:59:59+24:00", "-016-06-30T23:59:59Z", "2016-06-30T23:59:59+02:"})
    EXPECT_EQ(parse_iso_time_us(text), std::nullopt) << text;
}

TEST(HttpValues, DurationsHaveAUnit) {
  EXPECT_EQ(parse_duration_us("7us"), 7);
  EXPECT_EQ(parse_duration_us("7ms"), 7'000);
  EXPECT_EQ(parse_duration_us("7s"), 7'000'000);
  EXPECT_EQ(parse_duration_us("7m"), 420'000'000);
  EXPECT_EQ(parse_duration_us("7h"), 25'200'000'000);
  EXPECT_EQ(parse_duration_us("7d"), 604'800'000'000);
  for (const char* text : {"", "7", "s", "-7s", "7min", "7 s", "106751992d"})
    EXPECT_EQ(parse_duration_us(text), std::nullopt) << text;
}

TEST(HttpValues, PercentSignsAreDecodedToUtf8) {
  EXPECT_EQ(percent_decoded("a%2Fb+c%C3%B1", false), "a/b+c\xc3\xb1");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  for (const char* text : {"%", "%4", "%zz", "%c3", "%ff"})
    EXPECT_EQ(percent_decoded(text, true), std::nullopt) << text;
}

TEST(HttpValues, JsonIsEscapedAndNumbersReadBack) {
  JsonText json;
  json.begin_object().key("a\"\\").text("\n\x01/\xc3\xb1").key("b").begin_array();
  json.number(std::uint64_t{18446744073709551615u}).number(std::int64_t{-1}).number(0.1);
  json.boolean(true).end_array().key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.take(),
            "{\"a\\\"\\\\\":\"\\u000a\\u0001/\xc3\xb1\",\"b\":[18446744073709551615,-1,0.1,true],"
            "\"c\":{}}");
}

}  // namespace
}  // namespace starling::stream
