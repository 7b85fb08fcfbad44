// SPDX-License-Identifier: Apache-2.0
// Tests how `starling put` reads rows from CSV and from JSON lines, whole and byte by byte.
#include "starling/apps/put/object_rows.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t now_us = 777;

/// A row with copies of its texts.
struct Read {
  std::string id, name;
  std::int64_t time_us = 0;
  Position position{};
  bool has_z = false;
  std::optional<std::uint32_t> tags{};
  bool operator==(const Read&) const = default;
};

struct Result {
  std::vector<Read> rows;
  std::vector<std::string> faults;
  std::vector<std::string> unused;
};

/// A source that returns at most `bytes_at_once` bytes a read, and calls `before_each` before each
/// read.
class Pieces : public sim::ByteSource {
 public:
  Pieces(std::string_view text, std::size_t bytes_at_once, std::function<void()> before_each = {})
      : rest_(text), bytes_at_once_(bytes_at_once), before_each_(std::move(before_each)) {}

  std::size_t read(std::span<char> buffer) override {
    if (before_each_) before_each_();
    const std::size_t bytes = rest_.copy(buffer.data(), std::min(buffer.size(), bytes_at_once_));
    rest_.remove_prefix(bytes);
    return bytes;
  }

 private:
  std::string_view rest_;
  std::size_t bytes_at_once_;
  std::function<void()> before_each_;
};

Result read(const std::string& text, Space space, std::size_t bytes_at_once,
            ObjectFormat format = ObjectFormat::by_first_byte) {
  Result result;
  sim::TextInput input("in", std::make_unique<Pieces>(text, bytes_at_once));
  const auto on_row = [&](const ObjectRow& row) {
    result.rows.push_back({std::string(row.id), std::string(row.name), row.time_us, row.position,
                           row.has_z, row.tags});
  };
  const auto on_fault = [&](std::uint64_t line, const std::string& sentence) {
    result.faults.push_back(std::to_string(line) + ": " + sentence);
  };
  read_object_rows(input, format,
                   {.space = space, .text_bytes_max = 20, .now_us = [] { return now_us; }}, on_row,
                   on_fault, result.unused);
  return result;
}

std::string refusal_of(const std::string& text, Space space = Space::planar2) {
  try {
    read(text, space, text.size() + 1);
  } catch (const sim::InputError& error) {
    return error.what();
  }
  return "";
}

class ObjectRowsSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(ObjectRowsSizes, ReadCsvWithQuotesBlankLinesAndLineNumbers) {
  const Result result = read(
      "\xEF\xBB\xBF\n# id ; "
      "X;y;speed;tags\r\n\r\na;1.5;-2;9;7\r\n\"b;\n\"\"\";3;4;9;\nc;5\nd;6;7;8;x",
      Space::planar2, GetParam());
  EXPECT_THAT(result.rows, ElementsAre(Read{"a", "", now_us, {1.5, -2, 0}, false, 7},
                                       Read{"b;\n\"", "", now_us, {3, 4, 0}, false, {}}));
  EXPECT_THAT(result.faults,
              ElementsAre("7: the y is missing", "8: the tag number 'x' cannot be understood"));
  EXPECT_THAT(result.unused, ElementsAre("speed"));
}

TEST_P(ObjectRowsSizes, ReadJsonLines) {
  const Result result = read(
      "\n{\"id\": 18446744073709551615, \"lon\": 1e1, \"lat\": \"59.5\", \"time\": 1.5, \"alt\": "
      "3}\n"
      "{\"id\":\"\\u65e5\",\"Longitude\":0,\"LATITUDE\":0,\"time_us\":5,\"name\":null,\"k\":[]}\n"
      "[1]\n{\"id\":\"a\",\"lon\":1,\"long\":2}\n{\"id\":true}\n{\"id\":\"too long a text of an "
      "id\"}",
      Space::wgs84, GetParam());
  EXPECT_THAT(result.rows,
              ElementsAre(Read{"18446744073709551615", "", 1'500'000, {10, 59.5, 3}, true, {}},
                          Read{"日", "", 5, {0, 0, 0}, false, {}}));
  EXPECT_THAT(result.faults, ElementsAre("4: this is not a JSON object: '[1]'",
                                         "5: two keys hold the same field; the second is 'long'",
                                         "6: 'id' is neither a string nor a number",
                                         "7: the id has 24 bytes, and the server allows 20"));
  EXPECT_THAT(result.unused, ElementsAre("k"));
}

INSTANTIATE_TEST_SUITE_P(BytesAtOnce, ObjectRowsSizes, testing::Values(1, 2, 7, 64, 4096));

TEST(ObjectRows, TakeTheFieldsOfTheServersSpace) {
  EXPECT_EQ(object_field_of(" LNG ", Space::wgs84), ObjectField::x);
  EXPECT_EQ(object_field_of("lng", Space::planar2), ObjectField::none);
  EXPECT_EQ(object_field_of("x", Space::wgs84), ObjectField::none);
  EXPECT_EQ(object_field_of("Z", Space::planar3), ObjectField::z);
  EXPECT_THAT(read("id,x,y,z\n1,2,3,4\n", Space::planar2, 99).rows,
              ElementsAre(Read{"1", "", now_us, {2, 3, 0}, false, {}}));
  EXPECT_THAT(read("id,x,y,z\n1,2,3,\n", Space::planar3, 99).faults,
              ElementsAre("2: the z is missing"));
}

TEST(ObjectRows, PassARowOnAsSoonAsItsLineHasEnded) {
  for (const std::string end : {"\n", "\r"}) {
    const std::string text = "id,x,y" + end + "a,1,2" + end + "b,3,4" + end;
    std::vector<std::string> ids;
    std::vector<std::size_t> seen;  // [byte]: number of rows before the byte was read
    sim::TextInput input("in",
                         std::make_unique<Pieces>(text, 1, [&] { seen.push_back(ids.size()); }));
    std::vector<std::string> unused;
    read_object_rows(
        input, ObjectFormat::csv, {.space = Space::planar2, .now_us = [] { return now_us; }},
        [&](const ObjectRow& row) { ids.emplace_back(row.id); },
        [](std::uint64_t, const std::string& sentence) { FAIL() << sentence; }, unused);
    EXPECT_THAT(ids, ElementsAre("a", "b"));
    const std::size_t second = text.find('b');  // read after the first row was passed on
    ASSERT_GT(seen.size(), second);
    EXPECT_EQ(seen[second - 1], 0u);
    EXPECT_EQ(seen[second], 1u);
  }
}

TEST(ObjectRows, LineEndsMayBeCarriageReturns) {
  const auto ids = [](const std::string& text) {
    std::vector<std::string> all;
    for (const Read& row : read(text, Space::planar2, 3).rows) all.push_back(row.id);
    return all;
  };
  EXPECT_THAT(ids("id,x,y\r1,1,1\r2,2,2"), ElementsAre("1", "2"));
  EXPECT_THAT(ids("id,x,y,n\n1,1,1,a\r2,2,2,b\r\n3,3,3,c\r"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(ids("{\"id\":1,\"x\":1,\"y\":1}\r{\"id\":2,\"x\":1,\"y\":1}"), ElementsAre("1", "2"));
}

TEST(ObjectRows, DecimalCommasOfTagsAndTimesAreReadToo) {
  EXPECT_THAT(read("id;x;y;time;tags\n7;1,5;2;1,25;5,0\n", Space::planar2, 64).rows,
              ElementsAre(Read{"7", "", 1'250'000, {1.5, 2, 0}, false, 5}));
}

TEST(ObjectRows, WhereBlanksSeparateAShortRowKeepsItsClock) {
  for (const std::string text : {"id x y time note\n7 1 2 2022-01-03 00:10:00\n",
                                 "id time x y tags\n7 2022-01-03 00:10 1 2\n"})
    EXPECT_THAT(read(text, Space::planar2, 64).rows,
                ElementsAre(Read{"7", "", 1'641'168'600'000'000, {1, 2, 0}, false, {}}));
}

TEST(ObjectRows, AQuoteWithinAFieldIsACharacter) {
  EXPECT_THAT(read("id,x,y\n5\" pipe,1,2\n6\" pipe,3,4\n", Space::planar2, 64).rows,
              ElementsAre(Read{"5\" pipe", "", now_us, {1, 2, 0}, false, {}},
                          Read{"6\" pipe", "", now_us, {3, 4, 0}, false, {}}));
}

TEST(ObjectRows, AFieldBehindTheHeaderIsAFault) {
  const Result result = read("id,x,y\n1,13,4,52,5\n2,1,2,\n", Space::planar2, 64);
  EXPECT_THAT(result.faults,
              ElementsAre(HasSubstr("2: the field '52' has no column in the header")));
  EXPECT_THAT(result.rows, ElementsAre(Read{"2", "", now_us, {1, 2, 0}, false, {}}));
}

TEST(ObjectRows, BlanksMayStandBetweenADateAndItsClock) {
  EXPECT_THAT(read("id x   y time tags\n1 2\t3 1970-01-01 00:00:01 5\n", Space::planar2, 64).rows,
              ElementsAre(Read{"1", "", 1'000'000, {2, 3, 0}, false, 5}));
}

TEST(ObjectRows, NumbersMayHaveDecimalCommasIfTheSeparatorIsAnother) {
  const Result result = read("id;x;y\n1;1,234;5\n2;1,5;-2,25\n3;1,234;0\n", Space::planar2, 64);
  EXPECT_THAT(result.faults, ElementsAre("2: the x '1,234' cannot be understood"));
  EXPECT_THAT(result.rows, ElementsAre(Read{"2", "", now_us, {1.5, -2.25, 0}, false, {}},
                                       Read{"3", "", now_us, {1.234, 0, 0}, false, {}}));
}

TEST(ObjectRows, WordsForNoValueAreNone) {
  const Result result =
      read("id,x,y,tags,time\n1,NaN,1,,\n2,1,2,NA,null\n3,1,2,7.0,1e3\n", Space::planar2, 64);
  EXPECT_THAT(result.faults, ElementsAre("2: the x is missing"));
  EXPECT_THAT(result.rows, ElementsAre(Read{"2", "", now_us, {1, 2, 0}, false, {}},
                                       Read{"3", "", 1'000'000'000, {1, 2, 0}, false, 7}));
}

TEST(ObjectRows, RefuseWhatIsNoTableOfObjects) {
  EXPECT_THAT(refusal_of(""), HasSubstr("in:1:1: the input is empty"));
  EXPECT_THAT(refusal_of("\n\n"), HasSubstr("the input is empty"));
  EXPECT_THAT(refusal_of(" [1]"), HasSubstr("this is a JSON array"));
  EXPECT_THAT(refusal_of("\nid,lon,lat\n"),
              HasSubstr("in:2:1: this server's space is planar2, so the header needs id, x and y"));
  EXPECT_THAT(refusal_of("id,x,y,time,time_us\n"), HasSubstr("both hold the time"));
  EXPECT_THAT(refusal_of("id,x,y\na,1,2\n\"b,1,2\n"),
              HasSubstr("in:3:1: the quote that opens here is never closed"));
  EXPECT_THAT(refusal_of("id,x,y\n" + std::string(2 << 20, 'a')),
              HasSubstr("longer than 1048576 bytes"));
  EXPECT_THAT(refusal_of("id,x,y\n"), IsEmpty());
}

}  // namespace
}  // namespace starling::apps
