// SPDX-License-Identifier: Apache-2.0
// Tests how text from files is made safe for error messages.
#include "starling/sim/data/files/quoted_text.hpp"

#include <gtest/gtest.h>

namespace starling::sim {
namespace {

TEST(QuotedText, LeavesTextAsItIs) {
  EXPECT_EQ(quoted_text(""), "''");
  EXPECT_EQ(quoted_text("five"), "'five'");
  EXPECT_EQ(quoted_text("stra\u00dfe \u20ac \U0001f68b"), "'stra\u00dfe \u20ac \U0001f68b'");
}

TEST(QuotedText, ShowsControlBytesAsNumbers) {
  EXPECT_EQ(quoted_text(std::string_view("x\0y", 3)), "'x\\x00y'");
  EXPECT_EQ(quoted_text("\x1b[2J\r\n\t\x7f"), "'\\x1b[2J\\r\\n\\t\\x7f'");
  EXPECT_EQ(quoted_text("a\u009b2Jb"), "'a\\u009b2Jb'");
}

TEST(QuotedText, ShowsBytesThatAreNoUtf8AsNumbers) {
  EXPECT_EQ(quoted_text("\xff\xfe"), "'\\xff\\xfe'");
  EXPECT_EQ(quoted_text("a\xc3"), "'a\\xc3'");
  EXPECT_EQ(quoted_text("\xc0\xaf"), "'\\xc0\\xaf'");
  EXPECT_EQ(quoted_text("\xe0\x80\xaf"), "'\\xe0\\x80\\xaf'");
  EXPECT_EQ(quoted_text("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");
  EXPECT_EQ(quoted_text("\xf4\x90\x80\x80"), "'\\xf4\\x90\\x80\\x80'");
  EXPECT_EQ(quoted_text("\xe2\x82z"), "'\\xe2\\x82z'");
}

TEST(QuotedText, CutsWhatIsLongBetweenCharacters) {
  std::string sixty;
  for (int i = 0; i < 60; ++i) sixty += "\u00df";
  EXPECT_EQ(printable_text(sixty), sixty);
  EXPECT_EQ(printable_text(sixty + "x"), sixty + "\u2026");
  EXPECT_EQ(quoted_text(std::string(5000, 'x')).size(), 60 + std::string("'\u2026'").size());
}

}  // namespace
}  // namespace starling::sim
