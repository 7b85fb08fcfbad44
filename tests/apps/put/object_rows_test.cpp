// SPDX-License-Identifier: Apache-2.0
// Tests how `starling put` reads rows from CSV and from JSON lines, whole and byte by byte.
#include "starling/apps/put/object_rows.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/sim/files/errors.hpp"

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

/// Feeds `bytes_at_once` bytes at a time.
Result read(const std::string& text, Space space, std::size_t bytes_at_once,
            ObjectFormat format = ObjectFormat::by_first_byte) {
  Result result;
  ObjectRows rows("in", format,
                  {.space = space, .text_bytes_max = 20, .now_us = [] { return now_us; }});
  const auto on_row = [&](const ObjectRow& row) {
    result.rows.push_back({std::string(row.id), std::string(row.name), row.time_us, row.position,
                           row.has_z, row.tags});
  };
  const auto on_fault = [&](std::uint64_t line, const std::string& sentence) {
    result.faults.push_back(std::to_string(line) + ": " + sentence);
  };
  for (std::size_t at = 0; at < text.size(); at += bytes_at_once)
    rows.feed(std::string_view(text).substr(at, bytes_at_once), on_row, on_fault);
  rows.end(on_row, on_fault);
  result.unused = rows.unused();
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
  ObjectRows rows("in", ObjectFormat::csv,
                  {.space = Space::planar2, .now_us = [] { return now_us; }});
  std::vector<std::string> ids;
  const auto on_row = [&](const ObjectRow& row) { ids.emplace_back(row.id); };
  const auto on_fault = [](std::uint64_t, const std::string& sentence) { FAIL() << sentence; };
  rows.feed("id,x,y\na,1,2\nb,3", on_row, on_fault);
  EXPECT_THAT(ids, ElementsAre("a"));
  rows.feed(",4\n", on_row, on_fault);
  EXPECT_THAT(ids, ElementsAre("a", "b"));
}

TEST(ObjectRows, RefuseWhatIsNoTableOfObjects) {
  EXPECT_THAT(refusal_of(""), HasSubstr("in:1:1: the input is empty"));
  EXPECT_THAT(refusal_of("\n\n"), HasSubstr("the input is empty"));
  EXPECT_THAT(refusal_of(" [1]"), HasSubstr("this is a JSON array"));
  EXPECT_THAT(refusal_of("\nid,lon,lat\n"),
              HasSubstr("in:2:1: this server's space is planar2, so the header needs id, x and y"));
  EXPECT_THAT(refusal_of("id,x,y,time,time_us\n"), HasSubstr("both hold the time"));
  EXPECT_THAT(refusal_of("id,x,y\na,1,2\n\"b,1,2\n"), HasSubstr("in:3:1: a quote is left open"));
  EXPECT_THAT(refusal_of("id,x,y\n" + std::string(2 << 20, 'a')), HasSubstr("more than 1 MiB"));
  EXPECT_THAT(refusal_of("id,x,y\n"), IsEmpty());
}

}  // namespace
}  // namespace starling::apps
