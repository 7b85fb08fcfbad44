// SPDX-License-Identifier: Apache-2.0
// Tests search_graph: joined, its tiles equal the lists of a search for all rows, for every metric,
// method and size of a tile.
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/vector_oracle.hpp"
#include "tests/vectors/trial.hpp"
#include "tests/vectors/vectors.hpp"

namespace starling::test {
namespace {

Question ask_for_graph(VectorSearcher& searcher, Trial trial) {
  trial.queries = trial.rows;
  trial.is_graph = true;
  Random random(1);
  Question question = draw_question(trial, random);
  question.first_self = 0;
  searcher.set_corpus(question.metric, question.corpus_view());
  return question;
}

void expect_exact_graph(VectorSearcher& searcher, const Trial& trial,
                        std::span<const std::uint32_t> tiles) {
  const Question question = ask_for_graph(searcher, trial);
  const std::vector<VectorNeighbor> expected =
      vector_oracle(question.metric, question.corpus_view(), question.corpus_view(), question.k, 0);
  for (const SearchMethod method : supported_methods(searcher)) {
    for (const std::uint32_t tile : tiles) {
      SCOPED_TRACE(describe(trial) + ", method " + std::to_string(static_cast<int>(method)) +
                   ", tiles of " + std::to_string(tile));
      expect_same_lists(graph_in_tiles(searcher, question, tile, method), expected, question.k);
    }
    SCOPED_TRACE(describe(trial) + ", method " + std::to_string(static_cast<int>(method)));
    expect_same_lists(search_all(searcher, question, method), expected, question.k);
  }
}

TEST_P(Vectors, TheTilesOfAGraphAreExactInEveryMetric) {
  constexpr std::uint32_t tiles[] = {7, 64, 299, 300, 1000};
  for (const Metric metric : all_metrics)
    for (const RowShape shape : {RowShape::uniform, RowShape::small_integers}) {
      expect_exact_graph(searcher(),
                         {.metric = metric, .shape = shape, .rows = 300, .dimension = 5, .k = 16},
                         tiles);
      if (HasFailure()) return;
    }
}

TEST_P(Vectors, TheTilesOfAGraphMayHaveMoreEntriesThanRows) {
  constexpr std::uint32_t tiles[] = {1, 3, 100};
  for (const std::uint32_t rows : {0u, 1u, 2u, 33u, 65u})
    for (const std::uint32_t k : {1u, 64u, vector_k_max}) {
      expect_exact_graph(searcher(), {.rows = rows, .dimension = 3, .k = k}, tiles);
      if (HasFailure()) return;
    }
}

TEST_P(Vectors, ALargerGraphIsExact) {
  constexpr std::uint32_t tiles[] = {501, 4096};
  expect_exact_graph(searcher(), {.rows = 2500, .dimension = 9, .k = 200}, tiles);
  expect_exact_graph(searcher(),
                     {.metric = Metric::jensen_shannon,
                      .shape = RowShape::many_duplicates,
                      .rows = 1201,
                      .dimension = 70,
                      .k = 33},
                     tiles);
}

TEST_P(Vectors, AnErrorInTakeEndsTheGraphAndNotTheSearcher) {
  const Question question = ask_for_graph(searcher(), {.rows = 400, .dimension = 4, .k = 5});
  for (const SearchMethod method : supported_methods(searcher())) {
    const GraphSearch graph{question.corpus_view(), question.k, method, 90, {}};
    int tiles = 0;
    EXPECT_THROW(searcher().search_graph(graph,
                                         [&](VectorRow, std::span<const VectorNeighbor>) {
                                           if (++tiles == 2) throw std::runtime_error("full");
                                         }),
                 std::runtime_error);
    EXPECT_EQ(tiles, 2);
    expect_same_lists(graph_in_tiles(searcher(), question, 90, method),
                      search_all(searcher(), question), question.k);
  }
}

}  // namespace
}  // namespace starling::test
