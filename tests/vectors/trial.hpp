// SPDX-License-Identifier: Apache-2.0
// Searches with every method that the searcher supports. Compares the lists with the oracle's, bit
// for bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"
#include "tests/support/random.hpp"
#include "tests/vectors/rows.hpp"

namespace starling::test {

struct Trial {
  Metric metric = Metric::l2;
  RowShape shape = RowShape::uniform;
  std::uint32_t rows = 0;
  std::uint32_t dimension = 1;
  std::uint32_t queries = 1;
  std::uint32_t k = 1;
  bool is_graph = false;  ///< true: the queries are rows of the middle of the corpus
};

std::string describe(const Trial& trial);

/// A corpus and queries, both prepared, and the options of a search.
struct Question {
  Metric metric = Metric::l2;
  std::uint32_t dimension = 1;
  std::uint32_t k = 1;
  VectorRow first_self = no_row;
  std::vector<float> corpus = {};
  std::vector<float> queries = {};

  VectorsView corpus_view() const { return {corpus, dimension}; }
  VectorsView queries_view() const { return {queries, dimension}; }
};

Question draw_question(const Trial& trial, Random& random);

/// Returns the lists that the searcher finds with `method`. The searcher must already have the
/// question's corpus.
std::vector<VectorNeighbor> search_all(VectorSearcher& searcher, const Question& question,
                                       SearchMethod method = SearchMethod::automatic);

/// Returns the lists that the searcher finds with set_corpus_and_search.
std::vector<VectorNeighbor> set_and_search_all(VectorSearcher& searcher, const Question& question,
                                               SearchMethod method = SearchMethod::automatic);

/// Returns the lists that search_graph finds in tiles of at most `tile_rows_max` rows. The
/// question's queries are all rows of its corpus, which the searcher must already have. Checks that
/// the tiles follow each other, are not larger, and come on the calling thread, and that progress
/// comes on that thread, too, and never goes back.
std::vector<VectorNeighbor> graph_in_tiles(VectorSearcher& searcher, const Question& question,
                                           std::uint32_t tile_rows_max, SearchMethod method);

std::vector<SearchMethod> supported_methods(const VectorSearcher& searcher);

/// The test fails at the first entry whose score or row is not equal, bit for bit.
void expect_same_lists(std::span<const VectorNeighbor> lists,
                       std::span<const VectorNeighbor> expected, std::uint32_t k);

/// Draws a question and gives its corpus to the searcher. Compares the lists of every method with
/// the oracle's, also if the corpus and the search are given at once.
void expect_exact(VectorSearcher& searcher, const Trial& trial, std::uint64_t seed = 1);

}  // namespace starling::test
