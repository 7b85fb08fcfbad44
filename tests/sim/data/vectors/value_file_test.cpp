// SPDX-License-Identifier: Apache-2.0
// Tests values from files of each format, and the error for everything that is not a value.
#include "starling/sim/data/vectors/value_file.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"
#include "tests/sim/data/vectors/vector_bytes.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<double> values_of(std::string_view name, std::string_view bytes) {
  const TemporaryDirectory directory;
  return read_values(directory.write(name, bytes));
}

std::string refusal_of(std::string_view name, std::string_view bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.write(name, bytes);
  try {
    read_values(path);
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    return std::string(error.what()).substr(path.size() - name.size());
  }
  return {};
}

TEST(Values, AreNumbersOfAnyNumPyType) {
  EXPECT_THAT(values_of("v.npy", npy("<f8", "(2,)", bytes_of<double>({0.1, -1e300}))),
              ElementsAre(0.1, -1e300));
  EXPECT_THAT(values_of("v.npy", npy("<f4", "(1, 1)", bytes_of<float>({0.5f}))), ElementsAre(0.5));
  EXPECT_THAT(values_of("v.npy", npy(">f4", "(1,)", std::string_view("\x3F\x80\0\0", 4))),
              ElementsAre(1));
  EXPECT_THAT(values_of("v.npy", npy("<f2", "(1,)", std::string_view("\0\xC0", 2))),
              ElementsAre(-2));
  EXPECT_THAT(values_of("v.npy", npy("<i8", "(1,)", bytes_of<std::int64_t>({-(1ll << 60)}))),
              ElementsAre(-0x1p60));
  EXPECT_THAT(values_of("v.npy", npy("<u8", "(1,)", bytes_of<std::uint64_t>({1ull << 63}))),
              ElementsAre(0x1p63));
  EXPECT_THAT(values_of("v.npy", npy("<f8", "(0,)", "")), IsEmpty());
}

TEST(Values, AreOneColumnOfCsv) {
  EXPECT_THAT(values_of("v.csv", "price\n0.1\n-4e3\n+5\n"), ElementsAre(0.1, -4000, 5));
}

TEST(Values, RefuseWhatHasNoMean) {
  EXPECT_EQ(refusal_of("v.csv", "1\nnan\n"),
            "v.csv:2:1: the number is not finite; a mean needs finite values");
  EXPECT_EQ(refusal_of("v.csv", "1\ncheap\n"), "v.csv:2:1: 'cheap' is not a number");
  EXPECT_THAT(refusal_of("v.csv", "1,2\n"), HasSubstr("a second column begins here"));
  EXPECT_EQ(
      refusal_of("v.npy", npy("<f8", "(2,)",
                              bytes_of<double>({1, std::numeric_limits<double>::infinity()}))),
      "v.npy: row 1 (counted from 0) is not finite; a mean needs finite values");
  EXPECT_THAT(refusal_of("v.npy", npy("<f8", "(1, 2)", bytes_of<double>({1, 2}))),
              HasSubstr("one number per row"));
  EXPECT_THAT(refusal_of("v.fvecs", vecs_row<float>({1})), HasSubstr("values are read from"));
}

}  // namespace
}  // namespace starling::sim
