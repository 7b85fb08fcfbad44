// The shapes that published methods of exact k-NN over vectors were measured at, and what was
// published of them. Facts, each with its source; measured again by `starling bench dense`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "knn/vectors/searcher.hpp"
#include "knn/words/metric.hpp"

namespace starling::bench {

struct DenseShape {
  std::uint32_t rows = 0;
  std::uint32_t dimension = 1;
  std::uint32_t queries = 0;  ///< of a graph: its rows
  std::uint32_t k = 1;
  Metric metric = Metric::l2;
  bool is_graph = false;  ///< the queries are the rows themselves, none its own neighbour

  bool operator==(const DenseShape&) const = default;
};

struct DenseRow {
  DenseShape shape;
  std::string source{};  ///< table or figure of what was published
  /// By column of the table, in milliseconds; 0: not given, or only drawn.
  std::vector<double> published_ms{};
};

struct DenseTable {
  std::string name;
  std::string says;                    ///< for --help
  std::string source;                  ///< whose figures, on what hardware
  std::vector<std::string> published;  ///< heads of its columns
  std::vector<SearchMethod> methods;   ///< the paper's own
  std::vector<DenseRow> rows;
};

const std::vector<DenseTable>& dense_tables();

/// Null if there is none.
const DenseTable* find_dense_table(std::string_view name);

/// Rows and queries times `scale`, each at least 1.
DenseShape scaled(DenseShape shape, double scale);

/// "auto", "kato", "cuknn", "iterative", "insertion", "multiselect", "sbq".
std::string_view name_of(SearchMethod method);

}  // namespace starling::bench
