// SPDX-License-Identifier: Apache-2.0
// Tests the offset that is subtracted from rows of float64 before they are rounded to float32:
// which columns have an offset, that subtracting it loses nothing, and that rows which become equal
// are counted.
#include "starling/knn/vectors/row_offset.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace starling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<double> offset_of(const std::vector<double>& column, Metric metric = Metric::l2) {
  OffsetChoice choice(metric, 1);
  choice.see(column);
  return choice.offset();
}

/// Returns the column less its offset, in float32.
std::vector<float> centred(const std::vector<double>& column) {
  std::vector<float> rounded(column.size());
  round_to_float32(column, rounded);
  subtract_offset(offset_of(column), column, rounded);
  return rounded;
}

TEST(RowOffset, KeepsTheDifferencesOfNumbersThatFloat32Merges) {
  // Seconds since 1970, ten apart. Steps of float32 are 128 there.
  std::vector<double> seconds;
  for (int i = 0; i < 10; ++i) seconds.push_back(1'641'168'600.0 + 10 * i);
  const std::vector<float> rounded = centred(seconds);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(rounded[static_cast<std::size_t>(i)] - rounded[0], static_cast<float>(10 * i));
  std::ranges::for_each(seconds, [](double& number) { number = -number; });
  EXPECT_EQ(centred(seconds)[9] - centred(seconds)[0], -90);
}

TEST(RowOffset, IsOnlyOfMetricsThatIgnoreIt) {
  const std::vector<double> column{6'650'000.1, 6'650'000.2};
  for (const Metric metric : all_metrics) {
    const bool ignores =
        metric == Metric::l2 || metric == Metric::l1 || metric == Metric::chebyshev;
    EXPECT_EQ(offset_of(column, metric).empty(), !ignores) << name_of(metric);
  }
}

TEST(RowOffset, NumbersNearZeroOrOfBothSignsOrFarApartHaveNone) {
  EXPECT_THAT(offset_of({}), IsEmpty());
  EXPECT_THAT(offset_of({0.0, 0.0}), IsEmpty());
  EXPECT_THAT(offset_of({-0.1, 0.1}), IsEmpty());
  EXPECT_THAT(offset_of({0.0, 0.1}), IsEmpty());
  EXPECT_THAT(offset_of({0.1, 0.21}), IsEmpty()) << "the spread exceeds the least number";
  EXPECT_THAT(offset_of({0.1, 0.2}), Not(IsEmpty())) << "the spread is the least number";
  EXPECT_THAT(offset_of({0.1}), ElementsAre(0.1));
}

TEST(RowOffset, NumbersThatFloat32HoldsHaveOneOnlyFarFromZero) {
  EXPECT_THAT(offset_of({100, 101}), IsEmpty());
  EXPECT_THAT(offset_of({255, 256}), IsEmpty());
  EXPECT_THAT(offset_of({256, 257}), ElementsAre(256.5));
}

TEST(RowOffset, AColumnOfATextThatFloat32HoldsHasNone) {
  OffsetChoice choice(Metric::l2, 2, true);
  choice.see(std::vector<double>{4'171'305, 4'171'305.1});
  choice.see(std::vector<double>{4'171'171.5, 4'171'171.6});
  const std::vector<double> offset = choice.offset();
  ASSERT_EQ(offset.size(), 2u);
  EXPECT_EQ(offset[0], 0);
  EXPECT_NE(offset[1], 0);
}

TEST(RowOffset, NumbersThatNoMetricTakesHaveNone) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1e17}) {
    EXPECT_THAT(offset_of({bad, bad}), IsEmpty());
    EXPECT_THAT(offset_of({1e16 + 2, bad}), IsEmpty());
    EXPECT_THAT(offset_of({bad, 1e16 + 2}), IsEmpty());
  }
}

TEST(RowOffset, EachComponentHasItsOwn) {
  OffsetChoice choice(Metric::l1, 3);
  choice.see(std::vector<double>{1e6 + 0.1, -5, 0.3});
  choice.see(std::vector<double>{1e6 + 0.2, 5, 0.3});
  const std::vector<double> offset = choice.offset();
  ASSERT_EQ(offset.size(), 3u);
  EXPECT_NEAR(offset[0], 1e6 + 0.15, 0.01);
  EXPECT_EQ(offset[1], 0);
  EXPECT_EQ(offset[2], 0.3);
}

TEST(RowOffset, SubtractingItIsExactAndMakesNoNumberLarger) {
  std::mt19937_64 random(29);
  std::uniform_real_distribution<double> unit(0, 1);
  int with_offset = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const double least = std::ldexp(1 + unit(random), static_cast<int>(random() % 100) - 50);
    const double spread = least * std::ldexp(unit(random), -static_cast<int>(random() % 50));
    const double sign = random() % 2 == 0 ? 1 : -1;
    std::vector<double> column;
    for (int i = 0; i < 5; ++i) column.push_back(sign * (least + spread * unit(random)));
    const std::vector<double> offset = offset_of(column);
    if (offset.empty()) continue;
    ++with_offset;
    const std::vector<float> rounded = centred(column);
    for (std::size_t i = 0; i < column.size(); ++i) {
      // 64 bits of significand hold the difference of two float64 this near to each other.
      const long double difference = static_cast<long double>(column[i]) - offset[0];
      ASSERT_EQ(static_cast<long double>(column[i] - offset[0]), difference);
      ASSERT_LE(std::fabs(difference), std::fabs(column[i]));
      ASSERT_LE(std::fabs(rounded[i] - difference), std::fabs(difference) * 0x1p-24L);
    }
  }
  EXPECT_GT(with_offset, 19'000);
}

TEST(RowOffset, NumbersOfAGridThatFloat32CanHoldAreExact) {
  std::mt19937_64 random(31);
  int with_offset = 0;
  for (int trial = 0; trial < 5'000; ++trial) {
    const int grid = static_cast<int>(random() % 20) - 10;
    std::vector<double> column;
    const auto first = static_cast<std::int64_t>((random() >> 24) + (1u << 25));
    for (int i = 0; i < 8; ++i)
      column.push_back(std::ldexp(
          static_cast<double>(first + static_cast<std::int64_t>(random() % (1u << 24))), grid));
    const std::vector<double> offset = offset_of(column);
    if (offset.empty()) continue;
    ++with_offset;
    const std::vector<float> rounded = centred(column);
    for (std::size_t i = 0; i < column.size(); ++i)
      ASSERT_EQ(static_cast<double>(rounded[i]) + offset[0], column[i]);
  }
  EXPECT_GT(with_offset, 4'900);
}

TEST(RowOffset, RowsOfFloat32LoseItToo) {
  std::vector<float> rows{5, 1, 7, 2};
  subtract_offset(std::array{4.0, 0.0}, {}, rows);
  EXPECT_THAT(rows, ElementsAre(1, 1, 3, 2));
  subtract_offset({}, {}, rows);
  EXPECT_THAT(rows, ElementsAre(1, 1, 3, 2));
}

TEST(RowOffset, AFiniteNumberBeyondFloat32BecomesTheLargest) {
  std::vector<float> rounded(2);
  round_to_float32(std::array{1e300, -1e300}, rounded);
  EXPECT_THAT(rounded,
              ElementsAre(std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()));
}

std::uint64_t merged_in(const std::vector<double>& rows, std::uint32_t columns) {
  std::vector<float> rounded(rows.size());
  round_to_float32(rows, rounded);
  MergedRows merged(columns);
  merged.add(rows, rounded);
  return merged.count();
}

TEST(MergedRows, AreThoseThatDifferBeforeRoundingOnly) {
  EXPECT_EQ(merged_in({}, 1), 0u);
  EXPECT_EQ(merged_in({1, 2, 2, 3}, 1), 0u) << "equal rows were equal before";
  EXPECT_EQ(merged_in({0.1, 0.1, 0.2}, 1), 0u);
  EXPECT_EQ(merged_in({0.0, -0.0}, 1), 0u);
  EXPECT_EQ(merged_in({1 + 1e-12, 1, 5}, 1), 2u);
  EXPECT_EQ(merged_in({1 + 1e-12, 1, 1, 5 + 1e-12, 5, 7}, 1), 5u);
  EXPECT_EQ(merged_in({1 + 1e-12, 1, 1, 1}, 2), 2u) << "in one component";
  EXPECT_EQ(merged_in({1 + 1e-12, 1, 1, 2}, 2), 0u) << "another component tells them apart";
}

TEST(MergedRows, AreCountedAfterTheOffset) {
  const std::vector<double> column{1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75};
  std::vector<float> rounded(column.size());
  round_to_float32(column, rounded);
  MergedRows merged(1);
  merged.add(column, rounded);
  EXPECT_EQ(merged.count(), 3u);
  merged.replace_rounded(centred(column));
  EXPECT_EQ(merged.count(), 0u);
}

}  // namespace
}  // namespace starling
