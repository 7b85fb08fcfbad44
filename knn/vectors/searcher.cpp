// SPDX-License-Identifier: Apache-2.0
// The checks that every searcher makes first, and the graph as one search after another: see
// searcher.hpp. The searchers in cpu/ and gpu/ call these functions.
#include "starling/knn/vectors/searcher.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "starling/knn/base/usage.hpp"
#include "starling/knn/words/row_preparation.hpp"

namespace starling {
namespace {

void check_queries(const char* function, VectorsView queries, VectorRow first_self,
                   std::uint32_t dimension, std::uint32_t rows) {
  check_usage(dimension >= 1, function, ": there is no corpus; call set_corpus first");
  check_usage(queries.dimension == dimension, function, ": the queries have ", queries.dimension,
              " components, and the corpus has ", dimension);
  check_usage(queries.components.size() % dimension == 0, function, ": the queries have ",
              queries.components.size(), " numbers, which are no whole rows of ", dimension,
              " components");
  const std::uint32_t count = queries.rows();
  check_usage(first_self == no_row || (count <= rows && first_self <= rows - count), function,
              ": first_self says that the ", count, " queries are the rows from ", first_self,
              " on, but the corpus has ", rows, " rows; set no_row for queries that are not rows");
}

}  // namespace

void check_search(const VectorSearch& search, std::uint32_t dimension, std::uint32_t rows,
                  std::size_t list_entries) {
  check_usage(search.k >= 1 && search.k <= vector_k_max, "search: k is ", search.k,
              "; it must be 1 to ", vector_k_max);
  check_queries("search", search.queries, search.first_self, dimension, rows);
  const std::size_t queries = search.queries.rows();
  check_usage(list_entries == queries * search.k, "search: `lists` has ", list_entries,
              " entries; ", queries, " queries need k = ", search.k, " each");
}

void check_radius(const RadiusSearch& search, Metric metric, std::uint32_t dimension,
                  std::uint32_t rows) {
  check_queries("search_radius", search.queries, search.first_self, dimension, rows);
  check_usage(!std::isnan(search.radius), "search_radius: the radius is not a number");
  check_usage(search.radius >= 0 || metric == Metric::inner_product,
              "search_radius: the radius is ", std::to_string(search.radius), "; a distance by ",
              name_of(metric), " is at least 0");
}

void check_graph(const GraphSearch& graph, std::uint32_t dimension) {
  check_usage(graph.k >= 1 && graph.k <= vector_k_max, "search_graph: k is ", graph.k,
              "; it must be 1 to ", vector_k_max);
  check_usage(graph.rows.dimension == dimension, "search_graph: the rows have ",
              graph.rows.dimension, " components, and the corpus has ", dimension);
  check_usage(graph.tile_rows_max >= 1, "search_graph: tile_rows_max is 0; it must be at least 1");
}

void VectorSearcher::set_raw_corpus(Metric metric, VectorsView corpus) {
  if (keeps_rows(metric)) return set_corpus(metric, corpus);
  std::vector<float> prepared(corpus.components.size());
  const auto fault = prepare_vectors(metric, corpus, prepared);
  check_usage(!fault, "set_raw_corpus: in a row, ", fault ? sentence_of(*fault) : std::string());
  set_corpus(metric, {prepared, corpus.dimension});
}

bool VectorSearcher::borrow_raw_corpus(Metric metric, VectorsView corpus) {
  if (keeps_rows(metric)) return borrow_corpus(metric, corpus);
  set_raw_corpus(metric, corpus);
  return false;
}

void VectorSearcher::search_radius(const RadiusSearch& /*search*/,
                                   const TakeRadiusLists& /*take*/) {
  throw std::invalid_argument("search_radius: the " + std::string(name()) +
                              " searcher has no search by radius; use cpu::make_vector_searcher");
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
