// SPDX-License-Identifier: Apache-2.0
// Tests that columns stay aligned if names have wide characters.
#include "starling/apps/shared/text/text_table.hpp"

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

TEST(TextTable, AlignsWideNamesAndNumbers) {
  TextTable table(
      {{"rank", TextTable::Align::right}, {"object"}, {"m", TextTable::Align::right}, {""}});
  table.add_row({"1", "日本丸", "2.5", ""});
  table.add_row({"10", "tram\t7", "12.25", "!"});
  EXPECT_EQ(table.str(),
            "rank  object       m\n"
            "   1  日本丸     2.5\n"
            "  10  tram\\t7  12.25  !\n");
}

}  // namespace
}  // namespace starling::apps
