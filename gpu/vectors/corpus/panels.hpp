// Vectors as the device holds them, and what a scan over them is asked. Plain views; the layout is
// one for all kernels, so that a corpus is there once.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "knn/words/metric.hpp"

namespace starling::gpu {

/// Rows side by side in panels of `width`, four components (a group) at a time:
/// groups[(panel * group_count + group) * width + row % width]. A warp whose lanes have a row of a
/// panel of 32 each reads 512 bytes in a piece, from global as from shared memory, and a lane finds
/// four components of its own row in one register quad. Components beyond the dimension are 0 and
/// add fma(0, 0, s) = s; rows beyond the last are 0 and masked.
struct PanelsView {
  const float4* groups = nullptr;
  std::uint32_t group_count = 0;
  std::uint32_t width = 0;
};

inline constexpr std::uint32_t panel_rows = 32;       ///< of a corpus: one a lane
inline constexpr std::uint32_t query_tile_rows = 16;  ///< of the queries of a tile scan: a warp's

constexpr std::uint32_t group_count_of(std::uint32_t dimension) {
  return (dimension + 3) / 4;
}

/// Who may be among the nearest of each query. Each row is appended at most once, so that a list
/// with room for all rows scanned (and k carried over) cannot overflow, whatever the data are.
struct CandidateLists {
  std::uint64_t* keys = nullptr;  ///< [query][room], of counts[query]: see key_of()
  std::uint64_t room = 0;
  std::uint32_t* counts = nullptr;  ///< [query]
  /// [query]: an ordered score; k rows or more that have been seen are within it, so that nobody
  /// beyond is among the k nearest. Only falls.
  std::uint32_t* bounds = nullptr;
  /// [query][slot_count]: the least ordered score of the rows that were recorded in the slot. A row
  /// is recorded in one slot at most, so that the k-th least slot is a bound.
  std::uint32_t* slots = nullptr;
  std::uint32_t slot_count = 0;  ///< a power of two, 2 k or more
  std::uint32_t k = 0;
};

/// Whom a query does not have as a neighbour, where the queries are no run of the corpus' rows.
struct RowFilter {
  static constexpr std::uint32_t no_mask = ~std::uint32_t{0};
  VectorRow self = no_row;
  std::uint32_t mask = no_mask;  ///< an index into RowMasks; none: all rows
};

/// Runs of bits, one for each row of a corpus, bit i % 64 of word i / 64 for row i.
struct RowMasks {
  const std::uint64_t* words = nullptr;  ///< mask after mask
  std::uint64_t words_each = 0;
};

/// Part of a corpus against some queries.
struct VectorScan {
  PanelsView corpus;  ///< width panel_rows
  std::uint32_t panel_begin = 0;
  std::uint32_t panel_count = 0;  ///< at least 1
  std::uint32_t row_end = 0;      ///< of the corpus' view; panels may reach beyond
  std::uint32_t first_row = 0;    ///< what row 0 of the view is called in keys
  PanelsView queries;
  std::uint32_t query_count = 0;  ///< at least 1
  std::uint32_t first_self = 0;   ///< row of query 0, which is not its neighbour; or no_self
  bool is_dot = false;
  const RowFilter* filters = nullptr;  ///< [query], instead of first_self; null: none
  RowMasks masks;                      ///< of these filters
  CandidateLists lists;
  /// [query / gate_queries]: where it is 0, a tile scan leaves the queries alone. null: none.
  const std::uint32_t* gate = nullptr;
};

inline constexpr std::uint32_t gate_queries = 128;

/// No row is so large, and adding a query's number makes none of it.
inline constexpr std::uint32_t no_self = std::uint32_t{1} << 31;

}  // namespace starling::gpu
