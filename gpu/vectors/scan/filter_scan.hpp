// SPDX-License-Identifier: Apache-2.0
// The arguments of the filter's kernels. workspace.cpp sets most members, and the functions that
// launch the kernels set the rest.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/filter_limits.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/corpus/shadow.hpp"

namespace starling::gpu {

/// The number of queries in a tile of the filter. If a tile is undecided, the direct scan answers
/// all queries of the tile.
inline constexpr std::uint32_t filter_queries = gate_queries;

/// The arguments of a filter of a corpus by shadows. The rows are filtered in phases. During a
/// phase the bound of each query is fixed; between phases the bounds fall.
struct FilterScan {
  ShadowView corpus;
  PanelsView rows;  ///< the corpus itself, not its shadow; panels of any width
  std::uint32_t row_end = 0;
  std::uint32_t first_row = 0;                  ///< see VectorScan::first_row
  const std::uint16_t* query_halves = nullptr;  ///< see shadow_place(); padded to whole tiles
  ShadowQuery* queries = nullptr;               ///< [query], padded to whole tiles
  const float* components = nullptr;            ///< [query][dimension], the queries themselves
  std::uint32_t dimension = 0;
  std::uint32_t query_count = 0;
  std::uint32_t first_self = 0;  ///< see VectorScan::first_self
  std::uint32_t k = 0;
  std::uint64_t* keys = nullptr;  ///< [query][room]: (ordered score_above(), row)
  std::uint64_t room = 0;
  std::uint32_t* counts = nullptr;  ///< [query]
  /// [query / filter_queries]: not 0 if the tile is undecided, because the shadows leave enough
  /// candidates to make the direct scan faster. Later phases skip undecided tiles.
  std::uint32_t* undecided = nullptr;
  std::uint32_t kept_max = 0;  ///< a query with more candidates makes its tile undecided
  FilterLimits limits;
  // The tile of rows at position i of the walk is i * step % tile_count: see walk_step().
  std::uint32_t tile_count = 0;
  std::uint32_t step = 0;
  std::uint32_t phase_begin = 0;  ///< this phase has positions [phase_begin, phase_end)
  std::uint32_t phase_end = 0;
};

/// The arguments of the filter for few queries, which lowers its bounds while it runs.
struct FewFilterScan {
  FilterScan filter;  ///< its `keys` and `room` are those of `lists`
  /// Made from score_above(), the upper bound of a row's score, instead of the score.
  CandidateLists lists;
  std::uint32_t panel_count = 0;
};

}  // namespace starling::gpu
