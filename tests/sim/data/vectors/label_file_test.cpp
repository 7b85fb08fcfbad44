// SPDX-License-Identifier: Apache-2.0
// Tests labels from files of each format, and the error for everything that is not a label.
#include "starling/sim/data/vectors/label_file.hpp"

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"
#include "tests/sim/data/vectors/vector_bytes.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Label> labels_of(std::string_view name, std::string_view bytes) {
  const TemporaryDirectory directory;
  return read_labels(directory.write(name, bytes));
}

std::string error_of(std::string_view name, std::string_view bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.write(name, bytes);
  try {
    read_labels(path);
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    return std::string(error.what()).substr(path.size() - name.size());
  }
  return {};
}

TEST(Labels, AreIntegersOfAnyNumPyType) {
  EXPECT_THAT(labels_of("l.npy", npy("<i8", "(3,)", bytes_of<std::int64_t>({-1, 0, 1ll << 60}))),
              ElementsAre(-1, 0, 1ll << 60));
  EXPECT_THAT(labels_of("l.npy", npy("|u1", "(2, 1)", "\xFF\x01")), ElementsAre(255, 1));
  EXPECT_THAT(labels_of("l.npy", npy(">i2", "(1,)", "\xFF\xFE")), ElementsAre(-2));
  EXPECT_THAT(labels_of("l.npy", npy("<u8", "(1,)", bytes_of<std::uint64_t>({7}), "True")),
              ElementsAre(7));
  EXPECT_THAT(labels_of("l.npy", npy("<i4", "(0,)", "")), IsEmpty());
}

TEST(Labels, AreIvecsOfOneInteger) {
  EXPECT_THAT(labels_of("l.ivecs", vecs_row<std::int32_t>({5}) + vecs_row<std::int32_t>({-6})),
              ElementsAre(5, -6));
}

TEST(Labels, AreOneColumnOfCsv) {
  EXPECT_THAT(labels_of("l.csv", "3\n-4\n+5\n"), ElementsAre(3, -4, 5));
  EXPECT_THAT(labels_of("l.csv", "class\r\n3\r\n\"4\"\r\n"), ElementsAre(3, 4));
  EXPECT_THAT(labels_of("l.csv", "-9223372036854775807\n9223372036854775807"),
              ElementsAre(-9223372036854775807, 9223372036854775807));
}

TEST(Labels, RefuseWhatIsNoInteger) {
  EXPECT_THAT(error_of("l.npy", npy("<f4", "(1,)", bytes_of<float>({1}))),
              HasSubstr("l.npy: the elements have NumPy's type '<f4'; labels are integers"));
  EXPECT_EQ(error_of("l.csv", "1\ncat\n"), "l.csv:2:1: 'cat' is not an integer");
  EXPECT_EQ(error_of("l.csv", "1\n2.0\n"), "l.csv:2:1: '2.0' is not an integer");
  EXPECT_EQ(error_of("l.csv", "1\n\"\"\n2\n"),
            "l.csv:2:1: the field is empty; it must be an integer");
  EXPECT_EQ(error_of("l.csv", "1\n2\n\n\" \"\n"),
            "l.csv:4:1: the field is empty; it must be an integer");
  EXPECT_THAT(error_of("l.fvecs", vecs_row<float>({1})),
              HasSubstr("l.fvecs: labels are read from"));
}

TEST(Labels, RefuseTheNumberThatStandsForNone) {
  EXPECT_EQ(error_of("l.csv", "1\n-9223372036854775808\n"),
            "l.csv:2:1: the number is not a label: labels range from -2^63 + 1 to 2^63 - 1");
  EXPECT_THAT(error_of("l.csv", "9223372036854775808\n"),
              HasSubstr("l.csv:1:1: the number is not a label"));
  EXPECT_EQ(
      error_of("l.npy", npy("<i8", "(2,)", bytes_of<std::int64_t>({0, no_label}))),
      "l.npy: row 1 (counted from 0) is not a label: labels range from -2^63 + 1 to 2^63 - 1");
  EXPECT_THAT(error_of("l.npy", npy("<u8", "(1,)", bytes_of<std::uint64_t>({1ull << 63}))),
              HasSubstr("l.npy: row 0 (counted from 0) is not a label"));
}

TEST(Labels, RefuseMoreThanOneARow) {
  EXPECT_EQ(error_of("l.npy", npy("<i4", "(1, 2)", bytes_of<std::int32_t>({1, 2}))),
            "l.npy: labels are an array of shape (rows,) or (rows, 1), one integer per row");
  EXPECT_EQ(error_of("l.ivecs", vecs_row<std::int32_t>({1, 2, 3})),
            "l.ivecs: row 0 (counted from 0) has 3 integers; labels are one integer per row");
  EXPECT_EQ(error_of("l.csv", "1,2\n3,4\n"),
            "l.csv:1:3: a second column begins here; a file of labels has one column");
}

TEST(Labels, RefuseAFileThatIsCut) {
  EXPECT_THAT(error_of("l.ivecs", vecs_row<std::int32_t>({1}).substr(1)),
              HasSubstr("l.ivecs: the file is truncated or has more than one integer per row"));
  EXPECT_THAT(error_of("l.npy", npy("<i4", "(2,)", "1234")),
              HasSubstr("l.npy: the file is truncated"));
}

}  // namespace
}  // namespace starling::sim
