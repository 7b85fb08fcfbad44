// SPDX-License-Identifier: Apache-2.0
// Tests that CsvReader reads RFC 4180 and the deviations of real files.
#include "starling/sim/data/files/csv_reader.hpp"

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Records = std::vector<std::vector<std::string>>;

Records read_records(std::string_view text) {
  const TemporaryDirectory directory;
  TextInput input(directory.write("table.csv", text));
  CsvReader reader(input);
  Records records;
  for (std::vector<Field> fields; reader.next(fields);) {
    records.emplace_back();
    for (const Field& field : fields) records.back().emplace_back(field.text);
  }
  return records;
}

TEST(CsvReader, LinesEndInLfOrCrlfOrCrOrTheFilesEnd) {
  const Records expected{{"a", "b"}, {"c", "d"}};
  for (const std::string_view text :
       {"a,b\nc,d\n", "a,b\r\nc,d\r\n", "a,b\nc,d", "a,b\rc,d\r", "a,b\rc,d", "a,b\r\nc,d\r",
        "a,b\r\r\nc,d\r\r\n", "a,b\n\rc,d\n\r", "\ra,b\r\r\rc,d"})
    EXPECT_EQ(read_records(text), expected) << text;
}

TEST(CsvReader, BlanksSeparateInAnyNumber) {
  const Records expected{{"id", "x"}, {"7", "1"}, {"8", "2"}};
  EXPECT_EQ(read_records("id x\n7  1\n  8 \t 2  \n"), expected);
  EXPECT_EQ(read_records("id x\r7 1 \r \r8 2"), expected);
  EXPECT_EQ(read_records("id x\n\"7 a\" 1\n"), (Records{{"id", "x"}, {"7 a", "1"}}));
}

TEST(CsvReader, AFirstLineMayNameTheSeparator) {
  EXPECT_EQ(read_records("sep=;\r\na,b;c\r\n"), (Records{{"a,b", "c"}}));
  EXPECT_EQ(read_records("sep=,\na;b,c\n"), (Records{{"a;b", "c"}}));
  EXPECT_EQ(read_records("sep=x\na,b\n"), (Records{{"sep=x"}, {"a,b"}}));
  EXPECT_EQ(read_records("sep=;"), (Records{{"sep=", ""}}));
}

TEST(CsvReader, MarksInQuotesAreNoEvidenceOfTheSeparator) {
  EXPECT_EQ(read_records("id;\"u,v,w,x,y\";t\n"), (Records{{"id", "u,v,w,x,y", "t"}}));
  EXPECT_EQ(read_records("id \"u;v\" t\n"), (Records{{"id", "u;v", "t"}}));
  EXPECT_EQ(read_records("id;speed \"kn;t\n"), (Records{{"id", "speed \"kn", "t"}}));
}

TEST(CsvReader, AZeroByteIsAByteOfItsField) {
  const std::string text("a,b\0\0c\n\0,\"\0\"\n", 13);
  EXPECT_EQ(read_records(text), (Records{{"a", std::string("b\0\0c", 4)},
                                         {std::string(1, '\0'), std::string(1, '\0')}}));
}

TEST(CsvReader, QuotesHoldCommasLineBreaksAndDoubledQuotes) {
  EXPECT_EQ(read_records("\"a,b\",\"c\nd\"\n\"say \"\"hi\"\"\",\n"),
            (Records{{"a,b", "c\nd"}, {"say \"hi\"", ""}}));
}

TEST(CsvReader, AQuoteWithinAnUnquotedFieldStandsForItself) {
  EXPECT_EQ(read_records("5\" pipe,b\n"), (Records{{"5\" pipe", "b"}}));
  EXPECT_EQ(read_records("\"a\"b,c\n"), (Records{{"ab", "c"}}));
}

TEST(CsvReader, AQuoteInACommentOpensNoFurtherLine) {
  EXPECT_EQ(read_records("#,\"5,6\",\"7\"\"\"\n#,\"5\"x,6\n#,\"5"),
            (Records{{"#", "5,6", "7\""}, {"#", "\"5\"x", "6"}, {"#", "\"5"}}))
      << "only fields whose quotes are closed in the line";
  EXPECT_EQ(read_records("1,2\n#,\"5\n5,6\n# see \"fig. 3\n\"7\",8\n"),
            (Records{{"1", "2"}, {"#", "\"5"}, {"5", "6"}, {"# see \"fig. 3"}, {"7", "8"}}));
}

TEST(CsvReader, AnEmptyQuotedFieldIsNoBlankLine) {
  EXPECT_EQ(read_records("1\n\"\"\n\n3\n"), (Records{{"1"}, {""}, {"3"}}));
}

TEST(CsvReader, EmptyFieldsCountAndBlankLinesDoNot) {
  EXPECT_EQ(read_records(",\n\n\r\na,,\n"), (Records{{"", ""}, {"a", "", ""}}));
  EXPECT_EQ(read_records(""), Records{});
  EXPECT_EQ(read_records("\n\n"), Records{});
}

TEST(CsvReader, AByteOrderMarkIsNotPartOfTheFirstName) {
  EXPECT_EQ(read_records("\xEF\xBB\xBFid,x\n"), (Records{{"id", "x"}}));
}

TEST(CsvReader, PlacesCountLinesAndBytesFromOne) {
  const TemporaryDirectory directory;
  TextInput input(directory.write("table.csv", "ab,c\n\"x\ny\",z\n"));
  CsvReader reader(input);
  std::vector<Field> fields;
  ASSERT_TRUE(reader.next(fields));
  EXPECT_EQ(fields[1].line, 1u);
  EXPECT_EQ(fields[1].column, 4u);
  ASSERT_TRUE(reader.next(fields));
  EXPECT_EQ(fields[0].line, 2u);
  EXPECT_EQ(fields[0].column, 1u);
  EXPECT_EQ(fields[1].line, 3u);
  EXPECT_EQ(fields[1].column, 4u);
}

TEST(CsvReader, LinesAreCountedWhateverEndsThem) {
  TextInput input("in", std::string_view("a,b\rb\r\nc\n\"x\r\ny\rz\nw\",d\re"));
  CsvReader reader(input);
  std::vector<std::uint64_t> lines;
  for (std::vector<Field> fields; reader.next(fields);) lines.push_back(fields.back().line);
  EXPECT_THAT(lines, ElementsAre(1, 2, 3, 7, 8));
}

TEST(CsvReader, RecordsCrossBufferBoundaries) {
  std::string text;
  for (int row = 0; row < 60'000; ++row) text += std::to_string(row) + ",\"a\"\"b\"\r\n";
  const Records records = read_records(text);
  ASSERT_EQ(records.size(), 60'000u);
  for (std::size_t row = 0; row < records.size(); ++row)
    ASSERT_THAT(records[row], ElementsAre(std::to_string(row), "a\"b"));
}

TEST(CsvReader, AQuoteLeftOpenIsAnErrorWhereItOpened) {
  EXPECT_THAT([] { read_records("a,b\nc,\"d\n"); },
              testing::ThrowsMessage<InputError>(HasSubstr("table.csv:2:3: the quote")));
}

TEST(CsvReader, ARecordHasALimit) {
  const std::string text = "a,\"" + std::string(CsvReader::record_bytes_max + 1, 'x');
  EXPECT_THAT([&] { read_records(text); },
              testing::ThrowsMessage<InputError>(HasSubstr(
                  "table.csv:1:1: the record that begins here is longer than 1048576 bytes")));
  EXPECT_THAT(
      [] { read_records("1 2\n" + std::string(CsvReader::record_bytes_max + 1, ' ')); },
      testing::ThrowsMessage<InputError>(HasSubstr("table.csv:2:1: the record that begins")));
}

}  // namespace
}  // namespace starling::sim
