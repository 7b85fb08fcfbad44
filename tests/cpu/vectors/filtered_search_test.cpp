// SPDX-License-Identifier: Apache-2.0
// Tests that the filter by shadows never drops a row that is among the k nearest, and that it
// leaves over only queries for which shadows cannot tell rows apart. tests/vectors compares the
// searcher's lists with the oracle, on every shape of rows.
#include "starling/cpu/vectors/filtered_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "starling/cpu/backend.hpp"
#include "starling/cpu/vectors/score_interval.hpp"
#include "starling/cpu/vectors/searcher.hpp"
#include "starling/cpu/vectors/shadows.hpp"
#include "starling/knn/vectors/corpus_rows.hpp"
#include "tests/support/failing_new.hpp"
#include "tests/support/random.hpp"
#include "tests/support/vector_oracle.hpp"
#include "tests/vectors/trial.hpp"

namespace starling::test {
namespace {

using Integers = std::vector<std::int16_t>;

struct RowShadow {
  Integers integers;
  cpu::Shadow rest;
};

RowShadow shadow_of(const cpu::ShadowMaker& maker, std::span<const float> row) {
  RowShadow shadow;
  shadow.integers.resize(2 * maker.pairs());
  std::vector<double> room(maker.dimension());
  auto* const pairs = reinterpret_cast<cpu::ShadowPair*>(shadow.integers.data());
  shadow.rest = maker.make(row, room, pairs, 1);
  return shadow;
}

std::int64_t product_of(const Integers& x, const Integers& y) {
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += std::int64_t{x[j]} * y[j];
  return sum;
}

// Checks, for every pair of rows, that the interval contains the recipe's score.
void expect_intervals_hold(Metric metric, VectorsView rows) {
  const cpu::ShadowMaker maker(metric, CorpusRows(rows));
  const cpu::ScoreInterval interval(metric, rows.dimension);
  std::vector<RowShadow> shadows;
  for (VectorRow row = 0; row < rows.rows(); ++row)
    shadows.push_back(shadow_of(maker, rows.row(row)));
  for (VectorRow i = 0; i < rows.rows(); ++i)
    for (VectorRow j = 0; j < rows.rows(); ++j) {
      const cpu::Shadow& x = shadows[i].rest;
      const cpu::Shadow& y = shadows[j].rest;
      const std::int64_t product = product_of(shadows[i].integers, shadows[j].integers);
      ASSERT_LE(std::abs(product), std::numeric_limits<std::int32_t>::max());
      const double middle = interval.middle(x, y, static_cast<std::int32_t>(product));
      const double half_width = interval.half_width(x, y);
      const float above = cpu::ScoreInterval::above(middle + half_width);
      const double below = cpu::ScoreInterval::below(above, half_width);
      ASSERT_LE(below, middle - half_width);
      const float score = vector_oracle_score(metric, rows.row(i), rows.row(j));
      // The score is rounded, so it may exceed what `above` allows. reach(above) covers this.
      const double value = metric == Metric::inner_product ? static_cast<double>(score)
                                                           : std::sqrt(static_cast<double>(score));
      ASSERT_LE(value, interval.reach(above)) << "rows " << i << " and " << j;
      const auto at_score = static_cast<float>(value);
      const float not_less = at_score < value
                                 ? std::nextafter(at_score, std::numeric_limits<float>::infinity())
                                 : at_score;
      ASSERT_LE(below, interval.reach(not_less)) << "rows " << i << " and " << j;
    }
}

TEST(ScoreInterval, HoldsTheScoreOfEveryPairInEveryShape) {
  for (const RowShape shape : row_shapes())
    for (const Metric metric : {Metric::l2, Metric::inner_product})
      for (const std::uint32_t dimension : {1u, 2u, 3u, 31u, 300u, dimension_max}) {
        SCOPED_TRACE(std::string(to_string(shape)) + ", dimension " + std::to_string(dimension));
        Random random(7);
        const std::vector<float> rows = draw_rows(shape, metric, 24, dimension, random);
        expect_intervals_hold(metric, {rows, dimension});
        if (::testing::Test::HasFailure()) return;
      }
}

// Components that lie exactly between two integers have the largest error that rounding can make.
TEST(ScoreInterval, HoldsWhereEveryComponentIsHalfwayBetweenTwoIntegers) {
  constexpr std::uint32_t dimension = 64;
  constexpr float integer_max = 5792;  // the square root of 2^31 / 64, rounded down
  Random random(3);
  std::vector<float> rows;
  for (int row = 0; row < 40; ++row) {
    const float sign = row % 2 == 0 ? 1.0f : -1.0f;
    rows.push_back(sign * integer_max);
    for (std::uint32_t j = 1; j < dimension; ++j)
      rows.push_back(static_cast<float>(random.between(-5000, 5000)) + 0.5f);
  }
  for (const Metric metric : {Metric::l2, Metric::inner_product})
    expect_intervals_hold(metric, {rows, dimension});
}

TEST(ShadowMaker, KeepsSumsOfProductsWithin32Bits) {
  for (const std::uint32_t dimension : {1u, 2u, 3u, 7u, 784u, 4095u, dimension_max}) {
    const std::vector<float> row(dimension, component_max);
    std::vector<float> both = row;
    for (const float component : row) both.push_back(-component);
    const cpu::ShadowMaker maker(Metric::inner_product, CorpusRows({both, dimension}));
    const RowShadow shadow = shadow_of(maker, row);
    EXPECT_LE(product_of(shadow.integers, shadow.integers),
              std::numeric_limits<std::int32_t>::max());
    EXPECT_GT(product_of(shadow.integers, shadow.integers), dimension * 1000);
  }
}

std::vector<std::uint32_t> left_over_of(const Question& question, unsigned threads) {
  ThreadPool pool(threads);
  cpu::FilteredSearch filtered(pool);
  const CorpusRows corpus(question.corpus_view());
  filtered.set_corpus(question.metric, corpus);
  VectorSearch search;
  search.queries = question.queries_view();
  search.k = question.k;
  search.first_self = question.first_self;
  std::vector<VectorNeighbor> lists(std::size_t{search.queries.rows()} * search.k);
  return filtered.search(search, lists);
}

TEST(FilteredSearch, AnswersEveryQueryWhereRowsDiffer) {
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product})
    for (const RowShape shape : {RowShape::uniform, RowShape::gaussian_at_1000})
      for (const std::uint32_t queries : {1u, 40u, 300u}) {
        Random random(1);
        const Question question = draw_question({.metric = metric,
                                                 .shape = shape,
                                                 .rows = 6000,
                                                 .dimension = 96,
                                                 .queries = queries,
                                                 .k = 20},
                                                random);
        if (metric == Metric::inner_product && shape != RowShape::uniform) continue;
        EXPECT_EQ(left_over_of(question, 2), std::vector<std::uint32_t>{})
            << name_of(metric) << ", " << to_string(shape) << ", " << queries << " queries";
      }
}

TEST(FilteredSearch, LeavesQueriesOverWhereAllRowsAreEqual) {
  for (const std::uint32_t queries : {3u, 300u}) {
    Random random(1);
    const Question question = draw_question(
        {.shape = RowShape::all_equal, .rows = 6000, .dimension = 96, .queries = queries, .k = 20},
        random);
    EXPECT_EQ(left_over_of(question, 2).size(), queries);
  }
}

// The nearest 3,000 rows of query 4 differ only in the last bits of their components, so shadows
// cannot tell these rows apart. All other queries are far from these rows.
TEST(FilteredSearch, NearTiesOfOneQueryLeaveTheOthersAlone) {
  Random random(5);
  Question question = draw_question({.rows = 6000, .dimension = 96, .queries = 9, .k = 33}, random);
  for (std::uint32_t j = 0; j < 96; ++j) question.queries[4 * 96 + j] = 100;
  for (VectorRow row = 0; row < 3000; ++row)
    for (std::uint32_t j = 0; j < 96; ++j)
      question.corpus[row * 96 + j] = 99 + 1e-5f * static_cast<float>(random.below(8));
  EXPECT_EQ(left_over_of(question, 2), (std::vector<std::uint32_t>{4}));
  const auto searcher = cpu::make_panel_searcher(2, cpu::RowFilter::always);
  searcher->set_corpus(question.metric, question.corpus_view());
  const std::vector<VectorNeighbor> expected =
      vector_oracle(question.metric, question.corpus_view(), question.queries_view(), question.k,
                    question.first_self);
  expect_same_lists(search_all(*searcher, question), expected, question.k);
}

// The corpus is large enough for the automatic choice of the filter. With a fused multiply-add, the
// searcher filters for k up to 50 and does not filter for k = 1000.
TEST(FilteredSearch, TheAutomaticChoiceNeverChangesALine) {
  for (const std::string_view target : cpu::simd_targets()) {
    SCOPED_TRACE(target);
    cpu::use_simd_target(target);
    for (const Metric metric : {Metric::l2, Metric::inner_product}) {
      Random random(2);
      Question question = draw_question({.metric = metric,
                                         .shape = RowShape::tight_clusters,
                                         .rows = 12'000,
                                         .dimension = 300,
                                         .queries = 6,
                                         .is_graph = true},
                                        random);
      const auto searcher = cpu::make_vector_searcher(2);
      searcher->set_corpus(metric, question.corpus_view());
      for (const std::uint32_t k : {1u, 50u, 1000u, 3u}) {
        question.k = k;
        const std::vector<VectorNeighbor> expected = vector_oracle(
            metric, question.corpus_view(), question.queries_view(), k, question.first_self);
        expect_same_lists(search_all(*searcher, question), expected, k);
        if (HasFailure()) return cpu::use_simd_target("best");
      }
    }
  }
  cpu::use_simd_target("best");
}

TEST(FilteredSearch, ThrowsWhereMemoryRunsOutAndSearchesLater) {
  // tests/cpu/vectors/searcher_test.cpp tests the same for the search without a filter.
  Random random(1);
  const Question question =
      draw_question({.rows = 3000, .dimension = 200, .queries = 128, .k = vector_k_max}, random);
  const std::vector<VectorNeighbor> expected =
      vector_oracle(question.metric, question.corpus_view(), question.queries_view(), question.k,
                    question.first_self);
  const auto searcher = cpu::make_panel_searcher(2, cpu::RowFilter::always);
  searcher->set_corpus(question.metric, question.corpus_view());
  VectorSearch search;
  search.queries = question.queries_view();
  search.k = question.k;
  std::vector<VectorNeighbor> lists(expected.size());
  {
    const FailingNew failing(std::size_t{1} << 18);
    EXPECT_THROW(searcher->search(search, lists), std::bad_alloc);
  }
  expect_same_lists(search_all(*searcher, question), expected, question.k);
}

}  // namespace
}  // namespace starling::test
