// SPDX-License-Identifier: Apache-2.0
// Compares the oracle of vectors with cases computed by hand, with integer arithmetic, and with the
// interval of docs/decisions/0006-vector-sums.md. The interval is proved to contain the true sum.
#include "tests/support/vector_oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace starling::test {
namespace {

using ::testing::ElementsAre;
using Row = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float smallest = std::numeric_limits<float>::denorm_min();

float l2_score(const Row& x, const Row& y) {
  return vector_oracle_score(Metric::l2, x, y);
}

float inner_score(const Row& x, const Row& y) {
  return vector_oracle_score(Metric::inner_product, x, y);
}

TEST(VectorOracleScore, IsTheSumOfSquaresForEveryMetricButTheInnerProduct) {
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::pearson, Metric::hellinger})
    EXPECT_EQ(vector_oracle_score(metric, Row{1, 5, -2}, Row{4, 1, 0}), 29);
  EXPECT_EQ(inner_score({1, 5, -2}, {4, 1, 3}), -3);
}

TEST(VectorOracleScore, AddsComponentAfterComponent) {
  // 2^24 + 1 is not a float32 number. So a 1 is lost if it is added after 2^24, and kept if it
  // is added before.
  EXPECT_EQ(l2_score({4096, 1, 1}, {0, 0, 0}), 0x1p24f);
  EXPECT_EQ(l2_score({1, 1, 4096}, {0, 0, 0}), 0x1p24f + 2);
  EXPECT_EQ(inner_score({4096, 1, 1}, {4096, 1, 1}), -0x1p24f);
  EXPECT_EQ(inner_score({1, 1, 4096}, {1, 1, 4096}), -(0x1p24f + 2));
}

TEST(VectorOracleScore, RoundsASquareTogetherWithItsSum) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24. If this square were rounded before it is added, the 2^-24
  // would be lost.
  const float one_and_a_bit = 1 + 0x1p-12f;
  EXPECT_EQ(inner_score({-1, one_and_a_bit}, {1, one_and_a_bit}), -(0x1p-11f + 0x1p-24f));
  EXPECT_EQ(l2_score({0x1p-12f, one_and_a_bit}, {0, 0}), 1 + 0x1p-11f + 0x1p-23f);
}

TEST(VectorOracleScore, KeepsSubnormals) {
  EXPECT_EQ(inner_score({-smallest}, {1}), smallest);
  EXPECT_EQ(inner_score({smallest, smallest}, {1, 2}), -3 * smallest);
  EXPECT_EQ(l2_score({0x1p-70f}, {0}), 0x1p-140f);
  // `normal` and the next float32 number differ by a subnormal number, not by zero.
  const float normal = std::numeric_limits<float>::min();
  EXPECT_EQ(inner_score({std::nextafter(normal, 1.0f) - normal}, {1}), -smallest);
}

TEST(VectorOracleScore, IsNeverMinusZero) {
  EXPECT_FALSE(std::signbit(inner_score({0}, {1})));
  EXPECT_FALSE(std::signbit(inner_score({-0.0f}, {1})));
  EXPECT_FALSE(std::signbit(inner_score({1, -1}, {1, 1})));
  EXPECT_FALSE(std::signbit(inner_score({-smallest}, {smallest})));
  EXPECT_FALSE(std::signbit(l2_score({0}, {-0.0f})));
}

TEST(VectorOracleScore, IsFiniteAtTheLargestComponents) {
  const Row high(dimension_max, component_max);
  const Row low(dimension_max, -component_max);
  EXPECT_EQ(l2_score(high, low), 0x1p126f);
  EXPECT_EQ(inner_score(high, high), -0x1p124f);
  EXPECT_EQ(inner_score(high, low), 0x1p124f);
}

TEST(VectorOracle, SortsByScoreThenRow) {
  const Row corpus{3, -1, 1, -2, 1};
  const Row queries{0, 2};
  EXPECT_THAT(vector_oracle(Metric::l2, {corpus, 1}, {queries, 1}, 3, no_row),
              ElementsAre(VectorNeighbor{1, 1}, VectorNeighbor{1, 2}, VectorNeighbor{1, 4},
                          VectorNeighbor{1, 0}, VectorNeighbor{1, 2}, VectorNeighbor{1, 4}));
}

TEST(VectorOracle, RanksLargeInnerProductsFirst) {
  const Row corpus{1, 0, 0, 1, -1, -1, 2, 2};
  const Row query{3, 1};
  EXPECT_THAT(vector_oracle(Metric::inner_product, {corpus, 2}, {query, 2}, 4, no_row),
              ElementsAre(VectorNeighbor{-8, 3}, VectorNeighbor{-3, 0}, VectorNeighbor{-1, 1},
                          VectorNeighbor{4, 2}));
}

TEST(VectorOracle, FillsShortLists) {
  const Row corpus{5};
  const Row queries{5, 7};
  EXPECT_THAT(vector_oracle(Metric::l2, {corpus, 1}, {queries, 1}, 2, no_row),
              ElementsAre(VectorNeighbor{0, 0}, VectorNeighbor{infinity, no_row},
                          VectorNeighbor{4, 0}, VectorNeighbor{infinity, no_row}));
  EXPECT_THAT(vector_oracle(Metric::l2, {Row{}, 1}, {Row{7}, 1}, 1, no_row),
              ElementsAre(VectorNeighbor{infinity, no_row}));
}

TEST(VectorOracle, LeavesOutARowThatIsTheQueryAndNotItsEqual) {
  const Row corpus{5, 5, 9};
  const Row queries{5, 9};
  EXPECT_THAT(vector_oracle(Metric::l2, {corpus, 1}, {queries, 1}, 2, 1),
              ElementsAre(VectorNeighbor{0, 0}, VectorNeighbor{16, 2}, VectorNeighbor{16, 0},
                          VectorNeighbor{16, 1}));
}

/// The components are such small integers that float32 represents every sum exactly. So the lists
/// must equal the lists of integer arithmetic.
TEST(VectorOracle, EqualsIntegerArithmetic) {
  for (const std::uint64_t seed : seeds(5)) {
    SCOPED_TRACE(replay_hint(seed));
    Random random(seed);
    constexpr std::uint32_t dimension = 7;
    std::vector<float> corpus(60 * dimension);
    std::vector<float> queries(9 * dimension);
    for (auto* rows : {&corpus, &queries})
      for (float& component : *rows) component = static_cast<float>(random.between(-3, 3));
    for (const Metric metric : {Metric::l2, Metric::inner_product}) {
      const auto lists = vector_oracle(metric, {corpus, dimension}, {queries, dimension}, 60, 11);
      for (std::size_t query = 0; query < 9; ++query) {
        std::vector<std::tuple<std::int64_t, VectorRow>> expected;
        for (std::size_t row = 0; row < 60; ++row) {
          if (row == 11 + query) continue;
          std::int64_t score = 0;
          for (std::size_t j = 0; j < dimension; ++j) {
            const auto x = static_cast<std::int64_t>(queries[query * dimension + j]);
            const auto y = static_cast<std::int64_t>(corpus[row * dimension + j]);
            score += metric == Metric::l2 ? (x - y) * (x - y) : -x * y;
          }
          expected.emplace_back(score, static_cast<VectorRow>(row));
        }
        std::ranges::sort(expected);
        for (std::size_t rank = 0; rank < 59; ++rank) {
          const VectorNeighbor& neighbor = lists[query * 60 + rank];
          EXPECT_EQ(neighbor.score, static_cast<float>(std::get<0>(expected[rank])));
          EXPECT_EQ(neighbor.row, std::get<1>(expected[rank]));
        }
        EXPECT_EQ(lists[query * 60 + 59].row, no_row);
      }
    }
  }
}

// The tests below compare errors with the interval of docs/decisions/0006-vector-sums.md. The true
// sum is computed in long double, so it has an error too. This error is below (roundings + 3)
// epsilons of long double, which is about 2^-30 of the interval. relative_bound() widens the
// interval by it.

long double relative_bound(std::size_t roundings) {
  const long double nu = static_cast<long double>(roundings) * 0x1p-24L;
  return nu / (1 - nu) +
         static_cast<long double>(roundings + 3) * std::numeric_limits<long double>::epsilon();
}

struct TrueSum {
  long double sum = 0;
  long double magnitude = 0;  ///< the sum of the absolute values of the terms
};

TrueSum true_sum(Metric metric, const Row& x, const Row& y) {
  TrueSum result;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const long double a = x[j];
    const long double b = y[j];
    const long double term = metric == Metric::inner_product ? -a * b : (a - b) * (a - b);
    result.sum += term;
    result.magnitude += std::fabs(term);
  }
  return result;
}

/// Returns the error of the score divided by the width of the interval. The result must be at most
/// 1.
long double share_of_interval(Metric metric, const Row& x, const Row& y) {
  const TrueSum truth = true_sum(metric, x, y);
  const std::size_t roundings = x.size() + (metric == Metric::inner_product ? 0 : 2);
  const long double interval =
      relative_bound(roundings) * truth.magnitude + static_cast<long double>(x.size()) * 0x1p-149L;
  return std::fabs(vector_oracle_score(metric, x, y) - truth.sum) / interval;
}

using Draw = std::function<float(Random&)>;

/// Returns a Draw of positive and negative numbers with exponents from `low` to `high`.
Draw of_exponents(int low, int high) {
  return [=](Random& random) {
    const double magnitude =
        std::ldexp(1 + random.unit(), static_cast<int>(random.between(low, high)));
    return static_cast<float>(random.chance(0.5) ? magnitude : -magnitude);
  };
}

TEST(VectorOracleInterval, HoldsTheTrueSum) {
  const std::vector<Draw> draws{
      [](Random& random) { return static_cast<float>(random.normal()); },
      [](Random& random) { return static_cast<float>(1000 + random.unit()); },
      of_exponents(-149, -127),  // subnormal components
      of_exponents(-76, -73),    // subnormal squares
      of_exponents(54, 55),      // near 2^56
      of_exponents(-149, 55),
  };
  for (const std::uint64_t seed : seeds(3)) {
    SCOPED_TRACE(replay_hint(seed));
    Random random(seed);
    for (const std::size_t dimension : {1u, 2u, 3u, 31u, 128u, 1000u, dimension_max})
      for (std::size_t draw = 0; draw < draws.size(); ++draw)
        for (int repeat = 0; repeat < 20; ++repeat) {
          Row x(dimension);
          Row y(dimension);
          for (auto* row : {&x, &y})
            for (float& component : *row) component = draws[draw](random);
          for (const Metric metric : {Metric::l2, Metric::inner_product})
            EXPECT_LE(share_of_interval(metric, x, y), 1)
                << name_of(metric) << ", dimension " << dimension << ", draw " << draw;
        }
  }
}

// The tests below compare the divergences and their logarithm with docs/decisions/0014-recipes.md.

constexpr long double least = 0x1p-126L;

/// Returns the true term of DivergenceTerms: a g or h. Where a difference of logarithms would
/// cancel, adds up the power series instead.
long double true_term(Metric metric, float x, float y) {
  const long double a = static_cast<long double>(x) + y;
  const long double t = static_cast<long double>(x) - y;
  const long double u = t / std::max(a, least);
  const bool is_near = u * u < 0.25L;
  long double sum = 0;
  if (metric == Metric::jensen_shannon) {
    if (!is_near) {
      const long double q = 1 - std::fabs(u);
      return a * ((1 + std::fabs(u)) * std::log1p(std::fabs(u)) + (q > 0 ? q * std::log(q) : 0));
    }
    long double power = u * u;
    for (int n = 1; n < 40; ++n, power *= u * u) sum += power / (n * (2.0L * n - 1));
    return a * sum;
  }
  if (!is_near) {
    const long double ratio = std::max<long double>(x, least) / std::max<long double>(y, least);
    return std::max(x * std::log(ratio) - t, 0.0L);
  }
  // (1 + u) atanh(u) - u = u^2 + u^3 / 3 + u^4 / 3 + u^5 / 5 + u^6 / 5 + ...
  long double power = u * u;
  for (int n = 2; n < 80; ++n, power *= u) sum += power / (n % 2 == 0 ? n - 1 : n);
  return a * sum;
}

/// Returns the error of the score divided by the width of the interval. The result must be at most
/// 1.
long double share_of_divergence_interval(Metric metric, const Row& x, const Row& y) {
  long double truth = 0;
  for (std::size_t j = 0; j < x.size(); ++j) truth += true_term(metric, x[j], y[j]);
  const long double interval =
      relative_bound(x.size() + 64) * truth + static_cast<long double>(x.size()) * 0x1p-149L;
  return std::fabs(vector_oracle_score(metric, x, y) - truth) / interval;
}

/// Draws a distribution whose components have exponents down to `low`. Some are 0.
Row draw_distribution(std::size_t dimension, int low, Random& random) {
  Row row(dimension);
  for (float& component : row)
    component = random.chance(0.1) ? 0.0f : std::fabs(of_exponents(low, 0)(random));
  EXPECT_FALSE(
      prepare_vectors(Metric::jensen_shannon, {row, static_cast<std::uint32_t>(dimension)}, row)
          .has_value());
  return row;
}

TEST(VectorOracleLogarithm, IsNearTheTruthAwayFromOne) {
  // Every 1009th of the float32 numbers from 2^-126 on.
  for (std::uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 1009) {
    const auto r = std::bit_cast<float>(bits);
    if (r > 0.67f && r < 1.5f) continue;
    const double truth = std::log(double{r});
    ASSERT_LE(std::fabs(vector_oracle_logarithm(r) - truth), std::fabs(truth) * 0x1p-22) << r;
  }
}

TEST(VectorOracleInterval, HoldsTheTrueDivergence) {
  for (const std::uint64_t seed : seeds(3)) {
    SCOPED_TRACE(replay_hint(seed));
    Random random(seed);
    for (const std::size_t dimension : {1u, 2u, 31u, 1000u})
      for (const int low : {-1, -8, -60, -149})
        for (int repeat = 0; repeat < 20; ++repeat) {
          const Row x = draw_distribution(dimension, low, random);
          Row y = draw_distribution(dimension, low, random);
          if (random.chance(0.5)) {  // near each other
            y = x;
            for (float& component : y)
              if (random.chance(0.5)) component *= 1 + static_cast<float>(random.unit()) * 0x1p-10f;
          }
          for (const Metric metric : {Metric::jensen_shannon, Metric::kullback_leibler})
            ASSERT_LE(share_of_divergence_interval(metric, x, y), 1)
                << name_of(metric) << ", dimension " << dimension << ", exponents from " << low;
        }
  }
}

TEST(VectorOracleScore, OfEqualRowsIsZeroInEveryDivergence) {
  Random random(1);
  const Row x = draw_distribution(100, -20, random);
  for (const Metric metric : {Metric::jensen_shannon, Metric::kullback_leibler})
    EXPECT_EQ(vector_oracle_score(metric, x, x), 0);
}

TEST(VectorOracleScore, TakesTheQueryFirstInKullbackLeibler) {
  const Row x{0.5f, 0.5f, 0};
  const Row y{0.25f, 0.25f, 0.5f};
  const auto ln_2 = std::log(2.0f);
  EXPECT_FLOAT_EQ(vector_oracle_score(Metric::kullback_leibler, x, y), ln_2);
  // The third component of x is 0 and counts as 2^-126.
  EXPECT_FLOAT_EQ(vector_oracle_score(Metric::kullback_leibler, y, x),
                  0.5f * (125 * ln_2) - 0.5f * ln_2);
}

TEST(VectorOracleScore, OfDisjointDistributionsIsTheLargestInJensenShannon) {
  EXPECT_FLOAT_EQ(vector_oracle_score(Metric::jensen_shannon, Row{1, 0}, Row{0, 1}),
                  4 * std::log(2.0f));
}

TEST(VectorOracleScore, IsTheSumOrTheLargestOfTheDifferences) {
  EXPECT_EQ(vector_oracle_score(Metric::l1, Row{1, 5, -2}, Row{4, 1, 0}), 9);
  EXPECT_EQ(vector_oracle_score(Metric::chebyshev, Row{1, 5, -2}, Row{4, 1, 0}), 4);
}

TEST(VectorOracleInterval, IsNearlyReachedAndSoNotTooWide) {
  // Each of the 4095 ones is rounded away, because it is added to 2^24.
  Row x(dimension_max, 1);
  x[0] = 4096;
  const long double l2 = share_of_interval(Metric::l2, x, Row(dimension_max, 0));
  EXPECT_GT(l2, 0.99L);
  EXPECT_LE(l2, 1);
  const long double inner = share_of_interval(Metric::inner_product, x, x);
  EXPECT_GT(inner, 0.99L);
  EXPECT_LE(inner, 1);
}

}  // namespace
}  // namespace starling::test
