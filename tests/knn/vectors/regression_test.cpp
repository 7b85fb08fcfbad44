// SPDX-License-Identifier: Apache-2.0
// Compares regressions with means computed by hand, and with sums in long double.
#include "starling/knn/vectors/regression.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling {
namespace {

using Values = std::vector<double>;

constexpr VectorNeighbor no_neighbor{std::numeric_limits<float>::infinity(), no_row};
constexpr RegressionWeights uniform = RegressionWeights::uniform;
constexpr RegressionWeights by_distance = RegressionWeights::distance;

TEST(Regression, IsTheMeanOfTheValues) {
  const Values values{10, 20, 60};
  EXPECT_EQ(
      regress(Metric::l2, std::vector<VectorNeighbor>{{1, 0}, {4, 1}, {9, 2}}, values, uniform),
      30);
  EXPECT_EQ(
      regress(Metric::inner_product, std::vector<VectorNeighbor>{{-5, 2}, {3, 0}}, values, uniform),
      35);
}

TEST(Regression, WeightsAreOneByDistance) {
  const Values values{10, 40};
  // The distances are 1 and 2, the square roots of the scores: (10 / 1 + 40 / 2) / (1 + 1 / 2).
  EXPECT_EQ(regress(Metric::l2, std::vector<VectorNeighbor>{{1, 0}, {4, 1}}, values, by_distance),
            20);
  // The distances are halves of the scores, 1 and 4: (10 / 1 + 40 / 4) / (1 + 1 / 4).
  EXPECT_EQ(
      regress(Metric::cosine, std::vector<VectorNeighbor>{{2, 0}, {8, 1}}, values, by_distance),
      16);
}

TEST(Regression, NeighboursAtDistanceZeroCountAlone) {
  const Values values{10, 40, 1000};
  EXPECT_EQ(regress(Metric::l2, std::vector<VectorNeighbor>{{0, 0}, {0, 1}, {1e-30f, 2}}, values,
                    by_distance),
            25);
  EXPECT_EQ(regress(Metric::l2, std::vector<VectorNeighbor>{{0, 0}, {0, 1}, {1e-30f, 2}}, values,
                    uniform),
            350);
}

TEST(Regression, OfAListThatIsShortOrEmpty) {
  const Values values{3, 5};
  for (const RegressionWeights weights : {uniform, by_distance}) {
    EXPECT_EQ(
        regress(Metric::l2, std::vector<VectorNeighbor>{{4, 1}, no_neighbor}, values, weights), 5);
    EXPECT_TRUE(
        std::isnan(regress(Metric::l2, std::vector<VectorNeighbor>{no_neighbor}, values, weights)));
    EXPECT_TRUE(std::isnan(regress(Metric::l2, std::vector<VectorNeighbor>{}, values, weights)));
  }
}

TEST(Regression, SamplesWithoutAValueDoNotCount) {
  const double nan = -std::numeric_limits<double>::quiet_NaN();
  for (const RegressionWeights weights : {uniform, by_distance}) {
    EXPECT_EQ(regress(std::vector<Sample>{{nan, 0}, {6, 2}, {no_value, 2}}, weights), 6)
        << "not even at distance 0";
    EXPECT_TRUE(std::isnan(regress(std::vector<Sample>{{nan, 1}}, weights)));
  }
  EXPECT_EQ(regress(std::vector<Sample>{{4, 1}, {nan, 1}, {8, 3}}, by_distance), 5);
}

TEST(Regression, EveryNanHasTheBitsOfNoValue) {
  constexpr double most = std::numeric_limits<double>::max();
  const auto bits = [](const std::vector<Sample>& samples) {
    return std::bit_cast<std::uint64_t>(regress(samples, by_distance));
  };
  const auto expected = std::bit_cast<std::uint64_t>(no_value);
  EXPECT_EQ(bits({}), expected);
  EXPECT_EQ(bits({{-no_value, 1}}), expected);
  EXPECT_EQ(bits({{most, 0.5}, {-most, 0.5}}), expected) << "infinity - infinity";
}

// The mean equals the sum in long double except in the last bits of a float64.
TEST(Regression, IsNearTheSumInLongDouble) {
  test::Random random(20);
  for (int round = 0; round < 200; ++round) {
    Values values;
    std::vector<VectorNeighbor> list;
    float score = 0;
    long double plain = 0;
    long double weighted = 0;
    long double weights = 0;
    const auto count = static_cast<std::size_t>(random.between(1, 300));
    for (std::size_t i = 0; i < count; ++i) {
      score += static_cast<float>(random.between(1, 1000)) / 64;
      values.push_back(static_cast<double>(random.between(-1000, 1000)) / 8);
      list.push_back({score, static_cast<VectorRow>(i)});
      const long double by = std::sqrt(static_cast<long double>(score));
      plain += values.back();
      weighted += values.back() / by;
      weights += 1 / by;
    }
    const auto mean = static_cast<double>(plain / static_cast<long double>(count));
    EXPECT_NEAR(regress(Metric::l2, list, values, uniform), mean, 1e-10);
    EXPECT_NEAR(regress(Metric::l2, list, values, by_distance),
                static_cast<double>(weighted / weights), 1e-10);
  }
}

}  // namespace
}  // namespace starling
