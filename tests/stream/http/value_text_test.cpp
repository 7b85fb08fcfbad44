// SPDX-License-Identifier: Apache-2.0
// Tests the reader of percent-encoded text, numbers and words.
#include "starling/stream/json/value_text.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

TEST(HttpValues, PercentSignsAreDecodedToUtf8) {
  EXPECT_EQ(percent_decoded("a%2Fb+c%C3%B1", false), "a/b+c\xc3\xb1");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  for (const char* text : {"%", "%4", "%zz", "%c3", "%ff"})
    EXPECT_EQ(percent_decoded(text, true), std::nullopt) << text;
}

TEST(HttpValues, ComponentsAreRoundedToFloat32) {
  EXPECT_EQ(parse_components("0.5"), (std::vector<float>{0.5f}));
  EXPECT_EQ(parse_components("0.1,-1e3,-0"), (std::vector<float>{0.1f, -1000, -0.0f}));
  EXPECT_EQ(parse_components("3.4028234663852886e38"),
            (std::vector<float>{std::numeric_limits<float>::max()}));
  for (const char* text :
       {"", ",", "1,", ",1", "1,,2", "1 2", "1, 2", "nan", "1,inf", "-1e39", "x"})
    EXPECT_EQ(parse_components(text), std::nullopt) << text;
}

TEST(HttpValues, ABooleanIsAWord) {
  EXPECT_EQ(parse_bool("true"), true);
  EXPECT_EQ(parse_bool("false"), false);
  for (const char* text : {"", "1", "True", "yes"})
    EXPECT_EQ(parse_bool(text), std::nullopt) << text;
}

}  // namespace
}  // namespace starling::stream
