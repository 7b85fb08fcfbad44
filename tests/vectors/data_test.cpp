// SPDX-License-Identifier: Apache-2.0
// Tests data for which bounds, ties or rounding may go wrong, in every metric.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/vector_oracle.hpp"
#include "tests/vectors/trial.hpp"
#include "tests/vectors/vectors.hpp"

namespace starling::test {
namespace {

void expect_exact_in_every_shape(VectorSearcher& searcher, Metric metric) {
  for (const RowShape shape : row_shapes())
    for (const bool is_graph : {false, true}) {
      Trial trial{.metric = metric, .shape = shape, .is_graph = is_graph};
      for (const auto& [rows, dimension, queries, k] :
           {std::array{900u, 2u, 40u, 16u}, std::array{2500u, 5u, 6u, 1u},
            std::array{1100u, 33u, 18u, 100u}, std::array{4000u, 3u, 4u, vector_k_max}}) {
        trial.rows = rows;
        trial.dimension = dimension;
        trial.queries = queries;
        trial.k = k;
        expect_exact(searcher, trial);
        if (::testing::Test::HasFailure()) return;
      }
    }
}

TEST_P(Vectors, EveryShapeIsExactInL2) {
  expect_exact_in_every_shape(searcher(), Metric::l2);
}

TEST_P(Vectors, EveryShapeIsExactInCosine) {
  expect_exact_in_every_shape(searcher(), Metric::cosine);
}

TEST_P(Vectors, EveryShapeIsExactInPearson) {
  expect_exact_in_every_shape(searcher(), Metric::pearson);
}

TEST_P(Vectors, EveryShapeIsExactInHellinger) {
  expect_exact_in_every_shape(searcher(), Metric::hellinger);
}

TEST_P(Vectors, EveryShapeIsExactInInnerProduct) {
  expect_exact_in_every_shape(searcher(), Metric::inner_product);
}

TEST_P(Vectors, EveryShapeIsExactInL1) {
  expect_exact_in_every_shape(searcher(), Metric::l1);
}

TEST_P(Vectors, EveryShapeIsExactInChebyshev) {
  expect_exact_in_every_shape(searcher(), Metric::chebyshev);
}

TEST_P(Vectors, EveryShapeIsExactInJensenShannon) {
  expect_exact_in_every_shape(searcher(), Metric::jensen_shannon);
}

TEST_P(Vectors, EveryShapeIsExactInKullbackLeibler) {
  expect_exact_in_every_shape(searcher(), Metric::kullback_leibler);
}

TEST_P(Vectors, SumsAtTheLimitOfTheirRangeAreExact) {
  for (const Metric metric : {Metric::l2, Metric::inner_product, Metric::l1, Metric::chebyshev})
    for (const RowShape shape : {RowShape::largest, RowShape::largest_and_smallest})
      expect_exact(searcher(), {.metric = metric,
                                .shape = shape,
                                .rows = 200,
                                .dimension = dimension_max,
                                .queries = 9,
                                .k = 31});
}

TEST_P(Vectors, TiesAreBrokenByTheSmallerRow) {
  Question question{.dimension = 1, .k = 300, .queries = {0.0f}};
  question.corpus.resize(10'000);
  for (std::size_t row = 0; row < question.corpus.size(); ++row)
    question.corpus[row] = row % 2 == 0 ? 1.0f : -1.0f;
  question.corpus[9'999] = 0.5f;
  searcher().set_corpus(question.metric, question.corpus_view());
  for (const SearchMethod method : supported_methods(searcher())) {
    const std::vector<VectorNeighbor> list = search_all(searcher(), question, method);
    EXPECT_EQ(list[0], (VectorNeighbor{0.25f, 9'999}));
    for (std::uint32_t i = 1; i < question.k; ++i)
      ASSERT_EQ(list[i], (VectorNeighbor{1.0f, i - 1})) << "entry " << i;
  }
}

// Each row is nearer than the rows before it, or as near. So rows keep lowering the bound, which is
// the worst case for a gate.
TEST_P(Vectors, RowsThatComeEverNearerAreExact) {
  Question question{.dimension = 2, .k = 100, .queries = {0.0f, 0.0f, 1.0f, -1.0f}};
  for (std::uint32_t row = 0; row < 20'000; ++row)
    for (const float sign : {1.0f, -1.0f})
      question.corpus.push_back(sign * static_cast<float>(20'000 - row / 3));
  searcher().set_corpus(question.metric, question.corpus_view());
  const std::vector<VectorNeighbor> expected =
      vector_oracle(question.metric, question.corpus_view(), question.queries_view(), question.k,
                    question.first_self);
  for (const SearchMethod method : supported_methods(searcher()))
    expect_same_lists(search_all(searcher(), question, method), expected, question.k);
}

}  // namespace
}  // namespace starling::test
