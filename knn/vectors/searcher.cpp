// SPDX-License-Identifier: Apache-2.0
// The assertions that every searcher makes first, and the graph as one search after another: see
// searcher.hpp. The searchers in cpu/ and gpu/ call these functions.
#include "starling/knn/vectors/searcher.hpp"

#include <algorithm>
#include <vector>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/words/row_preparation.hpp"

namespace starling {

void check_search(const VectorSearch& search, std::uint32_t dimension, std::size_t list_entries) {
  check_invariant(search.k >= 1 && search.k <= vector_k_max, "k is 1 to vector_k_max");
  check_invariant(search.queries.dimension == dimension,
                  "queries have the dimension of the corpus");
  check_invariant(list_entries == std::size_t{search.queries.rows()} * search.k,
                  "`lists` has exactly k entries for each query");
}

void check_graph(const GraphSearch& graph, std::uint32_t dimension) {
  check_invariant(graph.k >= 1 && graph.k <= vector_k_max, "k is 1 to vector_k_max");
  check_invariant(graph.rows.dimension == dimension,
                  "the rows of a graph have the dimension of the corpus");
  check_invariant(graph.tile_rows_max >= 1, "a tile of a graph may have at least one row");
}

void VectorSearcher::set_raw_corpus(Metric metric, VectorsView corpus) {
  if (keeps_rows(metric)) return set_corpus(metric, corpus);
  std::vector<float> prepared(corpus.components.size());
  check_invariant(!prepare_vectors(metric, corpus, prepared), "raw rows have no fault");
  set_corpus(metric, {prepared, corpus.dimension});
}

bool VectorSearcher::borrow_raw_corpus(Metric metric, VectorsView corpus) {
  if (keeps_rows(metric)) return borrow_corpus(metric, corpus);
  set_raw_corpus(metric, corpus);
  return false;
}

/// Searches the rows of one tile after another. search() checks the dimension.
void VectorSearcher::search_graph(const GraphSearch& graph, const TakeLists& take) {
  check_graph(graph, graph.rows.dimension);
  const std::size_t dimension = graph.rows.dimension;
  const std::uint32_t rows = graph.rows.rows();
  const std::uint32_t tile_rows = std::min(graph.tile_rows_max, rows);
  std::vector<VectorNeighbor> lists(std::size_t{tile_rows} * graph.k);
  for (VectorRow first = 0; first < rows; first += tile_rows) {
    const std::uint32_t count = std::min(tile_rows, rows - first);
    VectorSearch search;
    search.queries = {graph.rows.components.subspan(first * dimension, count * dimension),
                      graph.rows.dimension};
    search.k = graph.k;
    search.first_self = first;
    search.method = graph.method;
    if (graph.on_progress)
      search.on_progress = [&](std::uint64_t done) { graph.on_progress(first + done); };
    const auto tile = std::span(lists).first(std::size_t{count} * graph.k);
    this->search(search, tile);
    take(first, tile);
  }
}

}  // namespace starling
