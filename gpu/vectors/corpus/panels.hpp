// SPDX-License-Identifier: Apache-2.0
// The layout of vectors on the device (panels), and the arguments of a scan over them. The structs
// own no memory. All scans share the layout, so a corpus is stored once.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/recipe.hpp"

namespace starling::gpu {

/// Rows in panels of `width` rows. A group is four neighbouring components of a row. A panel stores
/// group 0 of all its rows, then group 1 of all its rows, and so on. So group `group` of row `row`
/// is
///   groups[(row / width * group_count + group) * width + row % width].
/// If the lanes of a warp take the 32 rows of a panel, one row each, the warp reads 512 contiguous
/// bytes of global or shared memory at once, and each lane gets four components of its row.
/// Components beyond the dimension are 0 and do not change a sum s: fma(0, 0, s) = s. The last
/// panel may reach beyond the last row; kernels ignore the surplus rows.
struct PanelsView {
  const float4* groups = nullptr;
  std::uint32_t group_count = 0;
  std::uint32_t width = 0;
};

inline constexpr std::uint32_t panel_rows = 32;  ///< panel width of a corpus: one row for each lane
/// Panel width of the queries of a tile scan: a warp has one panel of queries.
inline constexpr std::uint32_t query_tile_rows = 16;

constexpr std::uint32_t group_count_of(std::uint32_t dimension) {
  return (dimension + 3) / 4;
}

/// The rows that may be among the k nearest of each query. A scan appends each row at most once to
/// the list of a query. So a list cannot overflow if it has room for all rows of the scan and for
/// the k entries of an earlier scan.
struct CandidateLists {
  std::uint64_t* keys = nullptr;  ///< [query][room]: see key_of(); counts[query] entries are used
  std::uint64_t room = 0;
  std::uint32_t* counts = nullptr;  ///< [query]
  /// [query]: an ordered score. At least k of the rows seen so far have this score or less, so a
  /// row with a larger score is not among the k nearest. A bound never rises.
  std::uint32_t* bounds = nullptr;
  /// [query][slot_count]: the least ordered score of the rows that were recorded in the slot. A row
  /// is recorded in at most one slot, so the k-th least slot is a bound.
  std::uint32_t* slots = nullptr;
  std::uint32_t slot_count = 0;  ///< a power of two, at least 2 k
  std::uint32_t k = 0;
};

/// The rows that one query may have as neighbours. Searches use it if the queries are not
/// consecutive rows of the corpus.
struct RowFilter {
  static constexpr std::uint32_t no_mask = ~std::uint32_t{0};
  VectorRow self = no_row;       ///< the query's own row; no_row if the query is not a row
  std::uint32_t mask = no_mask;  ///< index of one of the RowMasks; no_mask allows all rows
};

/// Bit masks over the rows of a corpus: bit i % 64 of word i / 64 says whether row i is allowed.
struct RowMasks {
  const std::uint64_t* words = nullptr;  ///< [mask][words_each]
  std::uint64_t words_each = 0;
};

/// The arguments of a scan of a part of a corpus for some queries.
struct VectorScan {
  PanelsView corpus;  ///< width panel_rows
  std::uint32_t panel_begin = 0;
  std::uint32_t panel_count = 0;  ///< at least 1
  std::uint32_t row_end = 0;      ///< rows of the corpus; the last panel may reach beyond row_end
  std::uint32_t first_row = 0;    ///< the number that row 0 of the corpus has in keys
  PanelsView queries;
  std::uint32_t query_count = 0;  ///< at least 1
  std::uint32_t first_self = 0;   ///< see first_self_of(); query i is row first_self + i
  Recipe recipe = Recipe::squared_differences;
  const RowFilter* filters = nullptr;  ///< [query]; null: first_self is used instead
  RowMasks masks;                      ///< RowFilter::mask is an index into these masks
  CandidateLists lists;
  /// [query / gate_queries]: a tile scan skips queries whose entry is 0. If null, it skips no
  /// query.
  const std::uint32_t* gate = nullptr;
};

/// The number of queries that share one entry of a gate.
inline constexpr std::uint32_t gate_queries = 128;

/// A number that no row has: all row numbers are smaller. no_self plus a query's index does not
/// wrap around, so the sum is no row number either.
inline constexpr std::uint32_t no_self = std::uint32_t{1} << 31;

/// Returns the row number of query 0. If the queries are not rows of the corpus, returns no_self,
/// which matches no row.
constexpr std::uint32_t first_self_of(VectorRow first_self) {
  return first_self == no_row ? no_self : first_self;
}

}  // namespace starling::gpu
