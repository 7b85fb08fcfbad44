// SPDX-License-Identifier: Apache-2.0
// Tests that the JSON is escaped, that its numbers read back, and where its commas are.
#include "starling/knn/base/json_text.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(JsonText, IsEscapedAndNumbersReadBack) {
  JsonText json;
  json.begin_object().key("a\"\\").text("\n\x01/\xc3\xb1").key("b").begin_array();
  json.number(std::numeric_limits<std::uint64_t>::max()).number(-1).number(0.1).boolean(true);
  json.number(std::numeric_limits<std::int64_t>::min());
  json.number(-std::numeric_limits<double>::denorm_min()).end_array();
  json.key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.take(),
            "{\"a\\\"\\\\\":\"\\u000a\\u0001/\xc3\xb1\",\"b\":[18446744073709551615,-1,0.1,true,"
            "-9223372036854775808,-5e-324],\"c\":{}}");
}

TEST(JsonText, WritesMembersInOrder) {
  JsonText json;
  json.begin_object().text("q\"", "line\nbreak").number("n", 7u).number("d", 0.5f);
  json.number("none", std::numeric_limits<double>::infinity()).boolean("b", false).end_object();
  EXPECT_EQ(json.take(), R"({"q\"":"line\u000abreak","n":7,"d":0.5,"none":null,"b":false})");
}

TEST(JsonText, EscapesWhatATerminalObeysOrHides) {
  JsonText json;
  json.text("\x7f\u0085\u009b\u202e\u2028\u2069\ufeff\U000e0041 \u00e4\u65e5\U0001f68b");
  EXPECT_EQ(
      json.take(),
      "\"\\u007f\\u0085\\u009b\\u202e\\u2028\\u2069\\ufeff\\udb40\\udc41 \u00e4\u65e5\U0001f68b\"");
}

TEST(JsonText, IsUtf8WhateverItsTextIs) {
  JsonText json;
  json.text("a\xff\xc2");
  EXPECT_EQ(json.take(), "\"a\\ufffd\\ufffd\"");
}

}  // namespace
}  // namespace starling
