// SPDX-License-Identifier: Apache-2.0
// Tests that other programs can read the quotes and escapes that are written.
#include "starling/sim/data/files/text_append.hpp"

#include <gmock/gmock.h>

#include "starling/sim/data/files/number_text.hpp"

namespace starling::sim {
namespace {

template <class Append, class Value>
std::string appended(Append append, Value value) {
  std::string text = ">";
  append(text, value);
  return text.substr(1);
}

TEST(TextAppend, CsvQuotesOnlyWhatItMust) {
  EXPECT_EQ(appended(append_csv, "tram 7; x"), "tram 7; x");
  EXPECT_EQ(appended(append_csv, "a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

TEST(TextAppend, XmlEscapesMarksBreaksAndWhatItCannotHold) {
  EXPECT_EQ(appended(append_xml, "<a b=\"c\">&'\t\n\x01 \u00e9"),
            "&lt;a b=&quot;c&quot;&gt;&amp;'&#9;&#10;\uFFFD \u00e9");
}

TEST(TextAppend, JsonEscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(appended(append_json, "a\"b\\c\n\x1F\u00e9"), "\"a\\\"b\\\\c\\u000a\\u001f\u00e9\"");
}

TEST(TextAppend, BytesThatAreNotUtf8AreTakenForLatin1) {
  EXPECT_EQ(appended(append_json, "\xE9\xBF"), "\"\u00e9\u00bf\"");
  EXPECT_EQ(appended(append_xml, "\xE9"), "\u00e9");
  EXPECT_EQ(appended(append_xml, "a\xEF\xBF\xBE\xEF\xBF\xBF"), "a\uFFFD\uFFFD");
}

TEST(TextAppend, NumbersReadBackToTheSame) {
  for (const double value : {0.1, -97.76523, 1e-300, 5e-324, 1e21, -0.0}) {
    std::string text;
    append_number(text, value, std::chars_format::fixed);
    EXPECT_EQ(text.find('e'), std::string::npos) << text;
    EXPECT_EQ(parse_number(text), value);
  }
}

}  // namespace
}  // namespace starling::sim
