// SPDX-License-Identifier: Apache-2.0
// Tests vectors in CSV files: the variants of CSV, and errors that name line and column.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tests/sim/data/vectors/vector_fixture.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CsvVectors, ReadsNumbersWithAndWithoutHeader) {
  EXPECT_THAT(read_vectors("a.csv", "1,2\n3,4\n5,6\n").components, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read_vectors("a.csv", "x,y\n1,2\n3,4").components, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read_vectors("a.csv", "\"x, 1\",\n1,2\n").components, ElementsAre(1, 2));
}

TEST(CsvVectors, ReadsWhatPeopleCallCsv) {
  EXPECT_THAT(read_vectors("a.csv", "\xEF\xBB\xBF# made by hand\r\n1 ; +2e1\r\n\r\n\"3\"; .5 \r\n")
                  .components,
              ElementsAre(1, 20, 3, .5f));
  EXPECT_THAT(read_vectors("a.tsv", "1\t-2\n").components, ElementsAre(1, -2));
  EXPECT_THAT(read_vectors("a.txt", "1.000000000000000000e+00 2\n").components, ElementsAre(1, 2));
  EXPECT_THAT(read_vectors("a.csv", "7\n8\n").components, ElementsAre(7, 8));
}

TEST(CsvVectors, AreReadCompressed) {
  const TemporaryDirectory directory;
  for (const std::string& path :
       {directory.write_gz("a.csv.gz", "1,2\n"), directory.write_zst("b.csv.zst", "1,2\n")})
    EXPECT_THAT(open_vectors(path)->next(9).components, ElementsAre(1, 2));
}

TEST(CsvVectors, KeepTheRowsInFloat64) {
  const TemporaryDirectory directory;
  const auto file = open_vectors(directory.write("a.csv", "6650000.1,1\n-1e39,0.1\n2,3\n"));
  file->next(2);
  EXPECT_THAT(file->exact_rows(), ElementsAre(6650000.1, 1, -1e39, 0.1));
  file->next(2);
  EXPECT_THAT(file->exact_rows(), ElementsAre(2, 3));
}

TEST(CsvVectors, RoundsTextOnceToFloat32) {
  // The first number lies slightly above the midpoint of two neighbouring float32 numbers, so it
  // must be rounded up. A reader that rounds to float64 first gets the midpoint and then rounds it
  // down.
  EXPECT_THAT(read_vectors("a.csv", "1.000000059604644775390626,16777217,1e-46,1e-45\n").components,
              ElementsAre(1 + 0x1p-23f, 0x1p24f, 0, 0x1p-149f));
}

TEST(CsvVectors, NumbersBeyondFloat32AreToldFromInfinities) {
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto read = read_vectors("a.csv", "1e39,-1e999,1e-999,inf,-Infinity,nan\n");
  EXPECT_THAT(std::vector(read.components.begin(), read.components.end() - 1),
              ElementsAre(largest, -largest, 0, infinity, -infinity));
  EXPECT_TRUE(std::isnan(read.components.back()));
}

TEST(CsvVectors, RefusesRaggedRowsAtTheirPlace) {
  EXPECT_EQ(vector_error("a.csv", "1,2,3\n4,5\n"),
            "a.csv:2:4: the row has 2 fields, but the first row has 3");
  EXPECT_EQ(vector_error("a.csv", "1,2\n3\n"),
            "a.csv:2:2: the row has 1 field, but the first row has 2");
  EXPECT_EQ(vector_error("a.csv", "1,2\n3,4,\n"),
            "a.csv:2:5: the row has 3 fields, but the first row has 2");
}

TEST(CsvVectors, RefusesWhatIsNoNumberAtItsPlace) {
  EXPECT_EQ(vector_error("a.csv", "x,y\n1,2\n3,four\n"), "a.csv:3:3: 'four' is not a number");
  EXPECT_EQ(vector_error("a.csv", "id,1,2\n"), "a.csv:1:1: 'id' is not a number");
  EXPECT_EQ(vector_error("a.csv", "1,,3\n"), "a.csv:1:3: the field is empty; it must be a number");
  for (const std::string text : {"0x10", "1.5.2", "1e", "--1", "+-1", "1_000", "1f"})
    EXPECT_EQ(vector_error("a.csv", "1\n" + text + "\n"),
              "a.csv:2:1: '" + text + "' is not a number");
  EXPECT_THAT(vector_error("a.csv", "1\n" + std::string(100, 'x')),
              HasSubstr("xxx\u2026' is not a number"));
}

TEST(CsvVectors, ShowsWhatNoTerminalShouldObey) {
  EXPECT_EQ(vector_error("a.csv", std::string("1,2\n3,x\0y\n", 10)),
            "a.csv:2:3: 'x\\x00y' is not a number");
  EXPECT_EQ(vector_error("a.csv", std::string("1\n\x1b[31m2\0\n", 10)),
            "a.csv:2:1: '\\x1b[31m2\\x00' is not a number");
}

TEST(CsvVectors, RefusesAnEmptyFileAndAnOpenQuote) {
  for (const std::string text : {"", "\n\n", "# nothing\n", "x,y\n"})
    EXPECT_EQ(vector_error("a.csv", text), "a.csv: the file has no rows");
  EXPECT_EQ(vector_error("a.csv", "1,2\n3,\"4\n"),
            "a.csv:2:3: the quote that opens here is never closed");
}

TEST(CsvVectors, RefusesDimensionsThatAreNotSearched) {
  std::string row = "1";
  for (int i = 0; i < 4096; ++i) row += ",1";
  EXPECT_THAT(vector_error("a.csv", "\n" + row + "\n"),
              HasSubstr("a.csv:2:1: the rows from here on hold vectors of 4097 components"));
}

TEST(CsvVectors, APlaceIsLineAndColumn) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.csv", "x,y\n1,2\n\n\"3\", 4\n5,6\n");
  const auto file = open_vectors(path);
  file->next(1);
  file->next(2);
  EXPECT_EQ(file->place_of(0, 1), path + ":4:5: the component");
  EXPECT_EQ(file->place_of(1, 0), path + ":5:1: the component");
}

}  // namespace
}  // namespace starling::sim
