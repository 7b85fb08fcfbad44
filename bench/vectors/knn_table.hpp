// SPDX-License-Identifier: Apache-2.0
// `starling bench knn`: measures the shapes of a table and prints the published times beside ours,
// as text or JSON. Called by apps/bench.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/vectors/knn_corpus.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::bench {

struct KnnTableOptions {
  std::string table;
  std::string engine_name;            ///< the name that the heading shows
  std::vector<std::size_t> shapes{};  ///< rows of the table, numbered from 1; empty: all
  double scale = 1;                   ///< factor for rows and queries
  std::uint64_t seed = 1;
  /// Number of runs of each measurement; 0: 20, or 3 if the first takes over a second.
  int runs = 0;
  CorpusMemory memory = CorpusMemory::ordinary;  ///< memory that rows are uploaded from
  bool serial = false;  ///< also measures plain searches on one core: see serial_search.hpp
  bool json = false;
};

/// Returns the meaning of each column and JSON field, for --help.
std::string knn_figures_help();

/// Throws std::invalid_argument if the table or a row is unknown, and std::runtime_error with a
/// sentence if a list is wrong.
void write_knn_table(const KnnTableOptions& options, VectorSearcher& searcher, std::ostream& out);

}  // namespace starling::bench
