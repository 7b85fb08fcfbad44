// SPDX-License-Identifier: Apache-2.0
// Finds the exact k nearest vectors of several queries at once: for each of three queries, the five
// nearest of 1,000 rows by cosine distance. Each row has 64 components. With USE_CUDA the same
// search runs on an NVIDIA GPU and gives the same bytes. Exits with 0 if the nearest row of every
// query is the row from which the query was made.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include <starling/knn/vectors/searcher.hpp>
#include <starling/knn/words/metric.hpp>
#ifdef USE_CUDA
#include <starling/gpu/backend.hpp>
#else
#include <starling/cpu/backend.hpp>
#endif

namespace {

constexpr auto metric = starling::Metric::cosine;
constexpr std::uint32_t dimension = 64;
constexpr std::uint32_t row_count = 1000;
constexpr std::uint32_t k = 5;

std::vector<float> random_rows(std::uint32_t count) {
  std::mt19937 random(42);
  std::normal_distribution<float> component;
  std::vector<float> rows(std::size_t{count} * dimension);
  for (float& value : rows) value = component(random);
  return rows;
}

/// Prepares rows for the metric, in place. Each row of the corpus and each query needs this once.
void prepare(std::vector<float>& rows) {
  const starling::VectorsView view{rows, dimension};
  if (const auto fault = starling::prepare_vectors(metric, view, rows))
    throw std::invalid_argument(starling::sentence_of(*fault));
}

std::unique_ptr<starling::VectorSearcher> make_searcher() {
#ifdef USE_CUDA
  return starling::gpu::make_vector_searcher({.device = 0});
#else
  return starling::cpu::make_vector_searcher(0);  // one thread per core
#endif
}

bool run() {
  std::vector<float> corpus = random_rows(row_count);
  // Query 0 is close to row 0, query 1 to row 1, query 2 to row 2.
  std::vector<float> queries(corpus.begin(), corpus.begin() + 3 * dimension);
  for (float& value : queries) value += 0.01F;
  prepare(corpus);
  prepare(queries);

  const auto searcher = make_searcher();
  searcher->set_corpus(metric, {corpus, dimension});
  starling::VectorSearch search{.queries = {queries, dimension}, .k = k};
  std::vector<starling::VectorNeighbor> lists(std::size_t{search.queries.rows()} * k);
  searcher->search(search, lists);

  bool all_found = true;
  for (std::uint32_t query = 0; query < search.queries.rows(); ++query) {
    std::cout << "query " << query << ":";
    for (const auto& neighbor : std::span(lists).subspan(std::size_t{query} * k, k))
      std::cout << " row " << neighbor.row << " at " << distance_of(metric, neighbor.score);
    std::cout << '\n';
    all_found = all_found && lists[std::size_t{query} * k].row == query;
  }
  return all_found;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "vector_search: " << error.what() << '\n';
    return 1;
  }
}
