// SPDX-License-Identifier: Apache-2.0
// Tests the JSON objects that the commands print.
#include "starling/apps/shared/text/json_line.hpp"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

TEST(JsonLine, WritesFieldsInOrderAndEscapesTexts) {
  EXPECT_EQ(JsonLine().str(), "{}");
  const std::array<std::string, 2> elements{JsonLine().number("a", 1).str(), "2"};
  EXPECT_EQ(JsonLine()
                .text("q\"", "line\nbreak")
                .number("n", std::numeric_limits<std::uint64_t>::max())
                .number("d", 0.1)
                .number("none", std::numeric_limits<double>::infinity())
                .boolean("b", true)
                .json("list", json_array(elements))
                .str(),
            R"({"q\"":"line\u000abreak","n":18446744073709551615,"d":0.1,"none":null,"b":true,)"
            R"("list":[{"a":1},2]})");
}

}  // namespace
}  // namespace starling::apps
