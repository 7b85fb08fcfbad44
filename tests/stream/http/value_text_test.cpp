// SPDX-License-Identifier: Apache-2.0
// Tests the reader of percent-encoded text, and the writer of JSON.
#include "starling/stream/http/value_text.hpp"

#include <gtest/gtest.h>

#include "starling/stream/http/json_text.hpp"

namespace starling::stream {
namespace {

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
