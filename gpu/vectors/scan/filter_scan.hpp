// A filter of a corpus by shadows: what its kernels are told.
#pragma once

#include <cstdint>

#include "gpu/vectors/corpus/filter_limits.hpp"
#include "gpu/vectors/corpus/panels.hpp"
#include "gpu/vectors/corpus/shadow.hpp"

namespace starling::gpu {

/// Queries of a tile of the filter, and of those that go by themselves to the direct scan.
inline constexpr std::uint32_t filter_queries = gate_queries;

/// The corpus goes by in phases, each of which has one bound a query; between them the bounds fall.
struct FilterScan {
  ShadowView corpus;
  PanelsView rows;  ///< the same, exact, of any width
  std::uint32_t row_end = 0;
  std::uint32_t first_row = 0;                  ///< as VectorScan's
  const std::uint16_t* query_halves = nullptr;  ///< [query][corpus.stride], padded to whole tiles
  ShadowQuery* queries = nullptr;               ///< padded likewise
  const float* components = nullptr;            ///< [query][dimension], exact
  std::uint32_t dimension = 0;
  std::uint32_t query_count = 0;
  std::uint32_t first_self = 0;  ///< as VectorScan's
  std::uint32_t k = 0;
  std::uint64_t* keys = nullptr;  ///< [query][room]: (score_above() in order, row)
  std::uint64_t room = 0;
  std::uint32_t* counts = nullptr;  ///< [query]
  /// [query / filter_queries]: not 0 where shadows leave so many candidates that the direct scan is
  /// faster. No more is done for such queries.
  std::uint32_t* undecided = nullptr;
  std::uint32_t kept_max = 0;  ///< more candidates after a phase make a tile undecided
  FilterLimits limits;
  // Tiles of rows in the order walk position i: tile i * step % tile_count (see PanelWalk).
  std::uint32_t tile_count = 0;
  std::uint32_t step = 0;
  std::uint32_t phase_begin = 0;  ///< positions of this phase
  std::uint32_t phase_end = 0;
};

}  // namespace starling::gpu
