// SPDX-License-Identifier: Apache-2.0
// The shapes at which published methods of exact k-NN over vectors were measured, and the published
// times, each with its source. `starling bench knn` measures the same shapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::bench {

struct KnnShape {
  std::uint32_t rows = 0;
  std::uint32_t dimension = 1;
  std::uint32_t queries = 0;  ///< number of queries; a graph has as many as `rows`
  std::uint32_t k = 1;
  Metric metric = Metric::l2;
  bool is_graph = false;  ///< the queries are the rows; no row is its own neighbour

  bool operator==(const KnnShape&) const = default;
};

struct PaperRow {
  KnnShape shape;
  std::string source{};  ///< the table or figure of the paper
  /// In milliseconds, one time for each entry of PaperTable::published. 0: the paper does not give
  /// this time in numbers.
  std::vector<double> published_ms{};
};

struct PaperTable {
  std::string name;
  std::string says;                    ///< description for --help
  std::string source;                  ///< the paper and its hardware
  std::vector<std::string> published;  ///< heads of the columns of published times
  std::vector<SearchMethod> methods;   ///< the methods of the paper
  std::vector<PaperRow> rows;
};

const std::vector<PaperTable>& paper_tables();

/// Returns null if there is no such table.
const PaperTable* find_paper_table(std::string_view name);

/// Multiplies rows and queries by `scale`; each stays at least 1.
KnnShape scaled(KnnShape shape, double scale);

/// Returns "auto", "kato", "cuknn", "iterative", "insertion", "threshold", "multiselect" or "sbq".
std::string_view name_of(SearchMethod method);

}  // namespace starling::bench
