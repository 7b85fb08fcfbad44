// SPDX-License-Identifier: Apache-2.0
// Compares the metrics with their definitions, which these tests compute separately. Also tests
// which rows the metrics refuse.
#include "starling/knn/words/metric.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/knn/words/filter.hpp"
#include "tests/support/random.hpp"

namespace starling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reason = VectorFault::Reason;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float subnormal = 0x1p-149f;

std::vector<float> prepared(Metric metric, std::vector<float> raw, std::uint32_t dimension) {
  std::vector<float> rows(raw.size(), not_a_number);
  const auto fault = prepare_vectors(metric, {raw, dimension}, rows);
  EXPECT_FALSE(fault.has_value());
  return rows;
}

// Returns the term of one component of the Jensen-Shannon score: four times its part of the
// divergence. x + y must not be 0.
double jensen_shannon_term(double x, double y) {
  const double middle = (x + y) / 2;
  return 2 * (x * std::log(x / middle) + y * std::log(y / middle));
}

// Returns the score of two prepared rows as VectorNeighbor defines it, but in float64. For the
// divergences all components must be positive.
double score_of(Metric metric, std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double a = x[j];
    const double b = y[j];
    switch (metric) {
      case Metric::inner_product:
        sum -= a * b;
        break;
      case Metric::l1:
        sum += std::fabs(a - b);
        break;
      case Metric::chebyshev:
        sum = std::max(sum, std::fabs(a - b));
        break;
      case Metric::jensen_shannon:
        sum += jensen_shannon_term(a, b);
        break;
      case Metric::kullback_leibler:
        sum += a * std::log(a / b) - a + b;
        break;
      default:
        sum += (a - b) * (a - b);
    }
  }
  return sum;
}

double dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}

double one_less_cosine(std::span<const double> x, std::span<const double> y) {
  return 1 - dot(x, y) / std::sqrt(dot(x, x) * dot(y, y));
}

std::vector<double> less_mean(std::vector<double> row) {
  double sum = 0;
  for (const double component : row) sum += component;
  for (double& component : row) component -= sum / static_cast<double>(row.size());
  return row;
}

std::vector<double> distribution(std::vector<double> row) {
  double sum = 0;
  for (const double component : row) sum += component;
  for (double& component : row) component /= sum;
  return row;
}

double relative_entropy(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) sum += p[j] * std::log(p[j] / q[j]);
  return sum;
}

double jensen_shannon_distance(const std::vector<double>& p, const std::vector<double>& q) {
  std::vector<double> middle(p.size());
  for (std::size_t j = 0; j < p.size(); ++j) middle[j] = (p[j] + q[j]) / 2;
  return std::sqrt((relative_entropy(p, middle) + relative_entropy(q, middle)) / 2);
}

// Returns the distance of two raw rows by the textbook definition.
double distance_by_definition(Metric metric, const std::vector<double>& x,
                              const std::vector<double>& y) {
  double sum = 0;
  switch (metric) {
    case Metric::l2:
      for (std::size_t j = 0; j < x.size(); ++j) sum += (x[j] - y[j]) * (x[j] - y[j]);
      return std::sqrt(sum);
    case Metric::cosine:
      return one_less_cosine(x, y);
    case Metric::pearson:
      return one_less_cosine(less_mean(x), less_mean(y));
    case Metric::hellinger:
      for (std::size_t j = 0; j < x.size(); ++j)
        sum += (std::sqrt(x[j]) - std::sqrt(y[j])) * (std::sqrt(x[j]) - std::sqrt(y[j]));
      return std::sqrt(sum) / std::sqrt(2.0);
    case Metric::inner_product:
      return -dot(x, y);
    case Metric::l1:
      for (std::size_t j = 0; j < x.size(); ++j) sum += std::fabs(x[j] - y[j]);
      return sum;
    case Metric::chebyshev:
      for (std::size_t j = 0; j < x.size(); ++j) sum = std::max(sum, std::fabs(x[j] - y[j]));
      return sum;
    case Metric::jensen_shannon:
      return jensen_shannon_distance(distribution(x), distribution(y));
    case Metric::kullback_leibler:
      return relative_entropy(distribution(x), distribution(y));
  }
  return sum;
}

TEST(Metrics, AreKnownByTheirNames) {
  for (const Metric metric : all_metrics) EXPECT_EQ(metric_named(name_of(metric)), metric);
  EXPECT_EQ(name_of(Metric::inner_product), "inner-product");
  for (const char* other : {"", "L2", "euclid", "inner_product", "l2 "})
    EXPECT_EQ(metric_named(other), std::nullopt);
}

TEST(Metrics, AreWhatTheirDefinitionsSay) {
  for (const std::uint64_t seed : test::seeds(20)) {
    SCOPED_TRACE(test::replay_hint(seed));
    test::Random random(seed);
    const auto dimension = static_cast<std::uint32_t>(random.between(2, 200));
    std::vector<float> raw(std::size_t{dimension} * 2);
    for (const Metric metric : all_metrics) {
      for (float& component : raw)
        component = static_cast<float>(random.normal() * 3 + (random.chance(0.5) ? 1 : -1));
      if (!allows_negatives(metric))
        for (float& component : raw) component = std::fabs(component);
      const std::vector<double> x(raw.begin(), raw.begin() + dimension);
      const std::vector<double> y(raw.begin() + dimension, raw.end());
      const std::vector<float> rows = prepared(metric, raw, dimension);
      const double score =
          score_of(metric, std::span(rows).first(dimension), std::span(rows).last(dimension));
      const double expected = distance_by_definition(metric, x, y);
      EXPECT_NEAR(distance_of(metric, static_cast<float>(score)), expected,
                  1e-5 * std::max(1.0, std::fabs(expected)))
          << name_of(metric) << ", dimension " << dimension;
    }
  }
}

TEST(Metrics, OfOppositeDirectionsAreTwoApart) {
  for (const Metric metric : {Metric::cosine, Metric::pearson}) {
    const std::vector<float> rows = prepared(metric, {3, -4, -30, 40}, 2);
    const double score = score_of(metric, std::span(rows).first(2), std::span(rows).last(2));
    EXPECT_NEAR(distance_of(metric, static_cast<float>(score)), 2, 1e-6);
  }
}

TEST(DistanceOf, IsWhatEachMetricMakesOfAScore) {
  EXPECT_EQ(distance_of(Metric::l2, 2.25f), 1.5);
  EXPECT_EQ(distance_of(Metric::l2, 2.0f), std::sqrt(2.0)) << "in float64";
  EXPECT_EQ(distance_of(Metric::cosine, 0.5f), 0.25);
  EXPECT_EQ(distance_of(Metric::pearson, 4.0f), 2);
  EXPECT_EQ(distance_of(Metric::hellinger, 0.5f), 0.5);
  EXPECT_EQ(distance_of(Metric::inner_product, -7.5f), -7.5);
  for (const Metric metric : all_metrics) EXPECT_EQ(distance_of(metric, infinity), infinity);
}

TEST(PrepareVectors, LeavesRowsOfL2AndInnerProductAsTheyAre) {
  const std::vector<float> raw{1, -2, 0, -0.0f, subnormal, -component_max};
  for (const Metric metric : {Metric::l2, Metric::inner_product})
    EXPECT_EQ(prepared(metric, raw, 2), raw);
}

TEST(PrepareVectors, GivesDirectionsTheLengthOne) {
  EXPECT_THAT(prepared(Metric::cosine, {3, 4, 0, -5}, 2), ElementsAre(0.6f, 0.8f, 0, -1));
  EXPECT_THAT(prepared(Metric::pearson, {1, 2, 3}, 3),
              ElementsAre(-std::sqrt(0.5f), 0, std::sqrt(0.5f)));
  EXPECT_THAT(prepared(Metric::hellinger, {4, 2, 0}, 3), ElementsAre(2, std::sqrt(2.0f), 0));
}

TEST(PrepareVectors, KeepsTheDirectionOfTheLargestAndTheSmallest) {
  for (const float size : {component_max / 4, 1.0f, subnormal})
    EXPECT_THAT(prepared(Metric::cosine, {3 * size, 4 * size}, 2), ElementsAre(0.6f, 0.8f)) << size;
}

TEST(PrepareVectors, LeavesZeroRowsZero) {
  for (const Metric metric : all_metrics) {
    const std::vector<float> rows = prepared(metric, {0, 0, 0, 1, 2, 4}, 3);
    EXPECT_THAT(std::span(rows).first(3), Each(0)) << name_of(metric);
  }
}

TEST(PrepareVectors, MakesZerosOfConstantRowsInPearson) {
  // A row of equal components minus its mean must be zero. But the computed mean of equal
  // components can differ from the components.
  for (const float constant : {0.1f, -1e7f / 3, component_max, subnormal})
    for (const std::uint32_t dimension : {1u, 3u, 7u, dimension_max})
      EXPECT_THAT(prepared(Metric::pearson, std::vector<float>(dimension, constant), dimension),
                  Each(0))
          << constant << ", dimension " << dimension;
}

TEST(PrepareVectors, TakesTheRowsOwnMemory) {
  for (const Metric metric : all_metrics) {
    test::Random random(1);
    std::vector<float> rows(300);
    for (float& component : rows) component = static_cast<float>(random.unit());
    const std::vector<float> expected = prepared(metric, rows, 30);
    EXPECT_FALSE(prepare_vectors(metric, {rows, 30}, rows).has_value());
    EXPECT_EQ(rows, expected) << name_of(metric);
  }
}

TEST(PrepareVectors, TakesNoRows) {
  for (const Metric metric : all_metrics) EXPECT_TRUE(prepared(metric, {}, 5).empty());
}

void expect_fault(Metric metric, float component, Reason reason) {
  std::vector<float> rows(35, 1.0f);
  rows[3 * 7 + 4] = component;
  rows[3 * 7 + 5] = infinity;  // must not be returned: it is not the first fault
  rows[4 * 7 + 1] = not_a_number;
  const auto fault = prepare_vectors(metric, {rows, 7}, rows);
  ASSERT_TRUE(fault.has_value()) << component;
  EXPECT_EQ(fault->row, 3u);
  EXPECT_EQ(fault->column, 4u);
  EXPECT_EQ(fault->reason, reason);
}

TEST(PrepareVectors, TellsTheFirstFaultByRowAndColumn) {
  for (const Metric metric : all_metrics) {
    SCOPED_TRACE(name_of(metric));
    expect_fault(metric, not_a_number, Reason::not_a_number);
    expect_fault(metric, -not_a_number, Reason::not_a_number);
    expect_fault(metric, infinity, Reason::infinite);
    expect_fault(metric, -infinity, Reason::infinite);
    expect_fault(metric, std::numeric_limits<float>::max(), Reason::too_large);
  }
}

TEST(PrepareVectors, AcceptsTheLargestComponentAndNotItsSuccessor) {
  const float successor = std::nextafter(component_max, infinity);
  for (const Metric metric : all_metrics) {
    SCOPED_TRACE(name_of(metric));
    const float other = allows_negatives(metric) ? -component_max : 1;
    for (const float component : prepared(metric, {component_max, other}, 2))
      EXPECT_TRUE(std::isfinite(component));
    expect_fault(metric, successor, Reason::too_large);
    expect_fault(metric, -successor, Reason::too_large);
  }
}

TEST(PrepareVectors, AcceptsNothingNegativeButZeroIfRowsAreDistributions) {
  for (const Metric metric :
       {Metric::hellinger, Metric::jensen_shannon, Metric::kullback_leibler}) {
    expect_fault(metric, -1, Reason::negative);
    expect_fault(metric, -subnormal, Reason::negative);
  }
  EXPECT_THAT(prepared(Metric::hellinger, {-0.0f, 1}, 2), ElementsAre(0, 1));
  EXPECT_THAT(prepared(Metric::kullback_leibler, {-0.0f, 1}, 2), ElementsAre(0, 1));
}

TEST(VectorFaults, HaveASentenceEach) {
  EXPECT_THAT(std::string(sentence_of(Reason::not_a_number)), HasSubstr("not a number"));
  EXPECT_THAT(std::string(sentence_of(Reason::infinite)), HasSubstr("infinite"));
  EXPECT_THAT(std::string(sentence_of(Reason::too_large)), HasSubstr("2^56"));
  EXPECT_THAT(std::string(sentence_of(Reason::negative)), HasSubstr("negative"));
}

TEST(VectorNeighbors, OrderByScoreAndThenByRow) {
  EXPECT_LT((VectorNeighbor{1, 9}), (VectorNeighbor{2, 3}));
  EXPECT_LT((VectorNeighbor{2, 3}), (VectorNeighbor{2, 4}));
  EXPECT_LT((VectorNeighbor{-1, 5}), (VectorNeighbor{0, 1}));
  EXPECT_LT((VectorNeighbor{1, 0xfffffffe}), (VectorNeighbor{infinity, no_row}));
}

TEST(OrderedScores, AreInTheOrderOfTheScoresAndLeadBackToThem) {
  const float scores[] = {-std::numeric_limits<float>::max(),
                          -2,
                          -0x1p-149f,
                          0,
                          0x1p-149f,
                          1,
                          std::nextafter(1.0f, 2.0f),
                          std::numeric_limits<float>::max()};
  for (std::size_t i = 0; i < std::size(scores); ++i) {
    EXPECT_EQ(score_of_ordered(ordered_of(scores[i])), scores[i]);
    EXPECT_TRUE(i == 0 || ordered_of(scores[i - 1]) < ordered_of(scores[i]));
  }
}

TEST(OrderedScores, WithinADistanceEndWithTheLastWhoseDistanceIsNotLarger) {
  test::Random random(1);
  for (const Metric metric : all_metrics) {
    for (int i = 0; i < 1000; ++i) {
      const double sign = metric == Metric::inner_product && i % 2 == 0 ? -1 : 1;
      const double distance = sign * std::exp(random.normal() * 20);
      const auto last = static_cast<std::uint32_t>(to_number(key_within(metric, distance)));
      EXPECT_LE(distance_of(metric, score_of_ordered(last)), distance);
      EXPECT_GT(distance_of(metric, score_of_ordered(last + 1)), distance);
    }
  }
}

TEST(OrderedScores, WithinADistanceAreAllOrNoneAtTheEnds) {
  for (const Metric metric : all_metrics) {
    EXPECT_EQ(key_within(metric, std::numeric_limits<double>::infinity()), Filter::any_distance);
    EXPECT_LT(to_number(key_within(metric, -1e300)),
              ordered_of(-std::numeric_limits<float>::max()) +
                  (metric == Metric::inner_product ? 0u : 1u << 31));
    EXPECT_THROW(key_within(metric, std::nan("")), std::invalid_argument);
  }
  EXPECT_EQ(key_within(Metric::l2, 0), rank_key_of(0.0f));
  EXPECT_LT(key_within(Metric::l2, -1), rank_key_of(0.0f));
}

TEST(PrepareEach, RefusesBadRowsByThemselvesAndNamesTheComponent) {
  const std::vector<float> raw{3, 4, 1, not_a_number, infinity, 0, 0, 2};
  std::vector<float> rows(raw.size());
  std::vector<std::optional<VectorFault>> faults(4);
  EXPECT_EQ(prepare_each(Metric::cosine, {raw, 2}, rows, faults), 2u);
  EXPECT_FALSE(faults[0].has_value());
  EXPECT_EQ(sentence_of(faults[1].value()), "component 2 is not a number");
  EXPECT_EQ(sentence_of(faults[2].value()), "component 1 is infinite");
  EXPECT_FALSE(faults[3].has_value());
  EXPECT_THAT(std::span(rows).first(2), ElementsAre(0.6f, 0.8f));
  EXPECT_THAT(std::span(rows).last(2), ElementsAre(0, 1));
}

}  // namespace
}  // namespace starling
