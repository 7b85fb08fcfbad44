// SPDX-License-Identifier: Apache-2.0
// The layout of vectors on the device (panels), and the arguments of a scan over them. Plain views.
// All scans share the layout, so a corpus is stored once.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Rows side by side in panels of `width` rows, four components (a group) at a time:
///   groups[(panel * group_count + group) * width + row % width].
/// A warp that takes a panel of 32 rows, one for each lane, reads 512 contiguous bytes from global
/// or shared memory; a lane gets four components of its row in one load. Components beyond the
/// dimension are 0 and do not change a sum s: fma(0, 0, s) = s. Rows beyond the last row are 0, and
/// kernels skip them.
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

/// The rows that may be among the k nearest of each query. A scan appends each row at most once, so
/// a list cannot overflow if it has room for all rows of the scan and for the k entries of an
/// earlier scan.
struct CandidateLists {
  std::uint64_t* keys = nullptr;  ///< [query][room], of which counts[query] are used: see key_of()
  std::uint64_t room = 0;
  std::uint32_t* counts = nullptr;  ///< [query]
  /// [query]: an ordered score. At least k of the rows seen so far have this score or less, so a
  /// row with a larger score is not among the k nearest. A bound never rises.
  std::uint32_t* bounds = nullptr;
  /// [query][slot_count]: the least ordered score of the rows recorded in the slot. A row is
  /// recorded in at most one slot, so the k-th smallest slot is a bound.
  std::uint32_t* slots = nullptr;
  std::uint32_t slot_count = 0;  ///< a power of two, at least 2 k
  std::uint32_t k = 0;
};

/// The rows that a query must not get as neighbours. Used where the queries are not consecutive
/// rows of the corpus.
struct RowFilter {
  static constexpr std::uint32_t no_mask = ~std::uint32_t{0};
  VectorRow self = no_row;       ///< the query's own row; no_row: it has none
  std::uint32_t mask = no_mask;  ///< index into RowMasks; no_mask: all rows are allowed
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
  std::uint32_t row_end = 0;      ///< number of rows of the corpus; its last panel may reach beyond
  std::uint32_t first_row = 0;    ///< the number that row 0 of the corpus has in keys
  PanelsView queries;
  std::uint32_t query_count = 0;  ///< at least 1
  std::uint32_t first_self = 0;   ///< see first_self_of(); query i is row first_self + i
  bool is_dot = false;
  const RowFilter* filters = nullptr;  ///< [query], replaces first_self; null: no filters
  RowMasks masks;                      ///< the masks that `filters` index
  CandidateLists lists;
  /// [query / gate_queries]: a tile scan skips the queries whose entry is 0. null: no gate.
  const std::uint32_t* gate = nullptr;
};

/// Queries that share an entry of a gate.
inline constexpr std::uint32_t gate_queries = 128;

/// Stands for "no row": larger than every row number. no_self plus a query's index does not wrap
/// around, so it is no row number either.
inline constexpr std::uint32_t no_self = std::uint32_t{1} << 31;

/// Returns the row of query 0, which must not be its own neighbour. If the queries are not rows of
/// the corpus, returns no_self, which matches no row.
constexpr std::uint32_t first_self_of(VectorRow first_self) {
  return first_self == no_row ? no_self : first_self;
}

}  // namespace starling::gpu
