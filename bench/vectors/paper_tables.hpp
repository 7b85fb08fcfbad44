// The shapes that published methods of exact k-NN over vectors were measured at, and what was
// published of them. Facts, each with its source; measured again by `starling bench knn`.
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
  std::uint32_t queries = 0;  ///< of a graph: its rows
  std::uint32_t k = 1;
  Metric metric = Metric::l2;
  bool is_graph = false;  ///< the queries are the rows themselves, none its own neighbour

  bool operator==(const KnnShape&) const = default;
};

struct PaperRow {
  KnnShape shape;
  std::string source{};  ///< table or figure of what was published
  /// By column of the table, in milliseconds; 0: not given, or only drawn.
  std::vector<double> published_ms{};
};

struct PaperTable {
  std::string name;
  std::string says;                    ///< for --help
  std::string source;                  ///< whose figures, on what hardware
  std::vector<std::string> published;  ///< heads of its columns
  std::vector<SearchMethod> methods;   ///< the paper's own
  std::vector<PaperRow> rows;
};

const std::vector<PaperTable>& paper_tables();

/// Null if there is none.
const PaperTable* find_paper_table(std::string_view name);

/// Rows and queries times `scale`, each at least 1.
KnnShape scaled(KnnShape shape, double scale);

/// "auto", "kato", "cuknn", "iterative", "insertion", "multiselect", "sbq".
std::string_view name_of(SearchMethod method);

}  // namespace starling::bench
