// SPDX-License-Identifier: Apache-2.0
// Tests which characters are shown as they are, how the others are written, and how numbers of
// bytes are.
#include "starling/knn/base/plain_text.hpp"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(PlainText, LetsTextOfAllLanguagesPass) {
  for (const char* text : {"", "five ~", "C:\\temp", "straße €", "日本丸", "🚋", "e\u0301",
                           "می\u200cخواهم", "क्\u200dष", "שלום", "a\u00a0b"})
    EXPECT_EQ(plain_text(text), text);
}

TEST(PlainText, WritesControlCharactersAsEscapes) {
  EXPECT_EQ(plain_text(std::string_view("\0\x1b[2J\x7f", 6)), "\\x00\\x1b[2J\\x7f");
  EXPECT_EQ(plain_text("a\r\n\tb"), "a\\r\\n\\tb");
  EXPECT_EQ(plain_text("\u0080\u009b31m\u009f"), "\\u0080\\u009b31m\\u009f");
}

TEST(PlainText, WritesWhatReordersOrHidesTextAsEscapes) {
  EXPECT_EQ(plain_text("\u202etxt.exe\u2066\u2069\u200f\u061c"),
            "\\u202etxt.exe\\u2066\\u2069\\u200f\\u061c");
  EXPECT_EQ(plain_text("a\u2028b\u2029"), "a\\u2028b\\u2029");
  EXPECT_EQ(plain_text("\u200b\u00ad\u2060\ufeff\u3164"), "\\u200b\\u00ad\\u2060\\ufeff\\u3164");
  EXPECT_EQ(plain_text("\U000e0041"), "\\U000e0041");
}

TEST(PlainText, WritesBytesThatAreNotUtf8AsNumbers) {
  EXPECT_EQ(plain_text("\x9b\xff"), "\\x9b\\xff");
  EXPECT_EQ(plain_text("a\xc2"), "a\\xc2");
  EXPECT_EQ(plain_text("\xc1\x9b"), "\\xc1\\x9b");
  EXPECT_EQ(plain_text("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(plain_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(plain_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(PlainText, KeepsLineBreaksOnRequestOnly) {
  EXPECT_EQ(plain_text("a\nb\r\n", LineBreaks::kept), "a\nb\\r\n");
}

TEST(PlainText, EscapesEveryControlCharacter) {
  for (char32_t code = 0; code < 0xa0; ++code) {
    const bool is_control = code < 0x20 || code >= 0x7f;
    EXPECT_EQ(is_plain(code), !is_control) << std::hex << static_cast<unsigned>(code);
  }
}

TEST(BytesText, HasTheLargestUnitAndATenth) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1 KiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(268'435'456), "256 MiB");
  EXPECT_EQ(bytes_text(3ULL << 30), "3 GiB");
  EXPECT_EQ(bytes_text(5ULL << 40), "5 TiB");
}

TEST(BytesText, NeverRoundsToAThousandAndTwentyFourOfAUnit) {
  EXPECT_EQ(bytes_text((1ULL << 20) - 1), "1 MiB");
  EXPECT_EQ(bytes_text((1ULL << 20) - 52), "1023.9 KiB");
  EXPECT_EQ(bytes_text((1ULL << 30) - 1), "1 GiB");
}

TEST(BytesText, TakesTheLargestNumber) {
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "16384 PiB");
}

}  // namespace
}  // namespace starling
