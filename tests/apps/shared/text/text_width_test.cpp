// SPDX-License-Identifier: Apache-2.0
// Tests the widths of texts on a terminal.
#include "starling/apps/shared/text/text_width.hpp"

#include <gtest/gtest.h>

namespace starling::apps {
namespace {

TEST(TextWidth, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(columns_of(""), 0u);
  EXPECT_EQ(columns_of("ñandú"), 5u);
  EXPECT_EQ(columns_of("日本丸"), 6u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(columns_of("🚚"), 2u);
}

TEST(TextWidth, CountsControlCharactersAndWrongBytesAsOneColumn) {
  EXPECT_EQ(columns_of("a\tb\x1b"), 4u);
  EXPECT_EQ(columns_of("\xff\xe6\x97"), 3u);
  EXPECT_EQ(columns_of("\u0085"), 1u);
}

TEST(TextWidth, CutsNoCharacterInHalf) {
  EXPECT_EQ(cut("日本丸", 5), "日本");
  EXPECT_EQ(cut("日本丸", 6), "日本丸");
  EXPECT_EQ(cut("日本丸", 1), "");
  EXPECT_EQ(cut("e\u0301a", 1), "e\u0301");
}

TEST(TextWidth, PadsToColumns) {
  EXPECT_EQ(padded("日", 4), "日  ");
  EXPECT_EQ(padded("日本丸", 4), "日本丸");
}

}  // namespace
}  // namespace starling::apps
