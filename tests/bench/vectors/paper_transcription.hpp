// SPDX-License-Identifier: Apache-2.0
// A second transcription of the times that five papers on exact k-NN print in their tables.
// It was typed from the papers alone, without the tables in bench/vectors. A test compares the two,
// so that a slip in either one shows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace starling::bench {

struct PublishedTime {
  std::string_view table;       ///< the work: "kato", "cuknn", "polimi", "komarov" or "sbq"
  std::string_view source;      ///< the table in the paper, as the paper numbers it
  std::uint32_t rows = 0;       ///< number of rows; in a graph, equal to `queries`
  std::uint32_t dimension = 1;  ///< 1 where the paper gives no number
  std::uint32_t queries = 1;    ///< 1 where the paper gives no number
  std::uint32_t k = 1;
  std::string_view column;  ///< the method or device that was timed
  double ms = 0;
};

/// Every time in the order of the papers. Holds no time of an approximate method.
std::span<const PublishedTime> published_times();

}  // namespace starling::bench
