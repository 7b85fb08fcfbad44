// `starling bench knn`: a table's shapes measured, beside what was published of them; as text or
// JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::bench {

struct KnnTableOptions {
  std::string table;
  std::string engine_name;            ///< for the heading only
  std::vector<std::size_t> shapes{};  ///< which of the table's rows, from 1; empty: all
  double scale = 1;                   ///< of rows and queries
  std::uint64_t seed = 1;
  int runs = 0;  ///< of each measurement; 0: 20, fewer where one is long
  bool json = false;
};

/// What each column and JSON field says, for --help.
std::string knn_figures_help();

/// Throws std::invalid_argument naming an unknown table or row, std::runtime_error with a sentence
/// if a list is wrong.
void write_knn_table(const KnnTableOptions& options, VectorSearcher& searcher, std::ostream& out);

}  // namespace starling::bench
