// What a store of vectors does beside searches: rows written in place, and who among some rows is
// near enough.
#pragma once

#include <cstdint>

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"
#include "knn/vectors/store.hpp"

namespace starling::gpu {

/// Rows that came, one behind the other.
struct AppliedRows {
  const float* components = nullptr;     ///< [count][dimension]
  const Slot* slots = nullptr;           ///< [count]; null: row i goes to place i
  const std::uint64_t* alive = nullptr;  ///< bits by row; the dead become what is no number
  std::uint32_t count = 0;
  std::uint32_t dimension = 1;
};

/// Enqueued only. Writes rows into panels of panel_rows that have room for them.
void write_rows_async(const AppliedRows& rows, float4* groups, const Stream& stream);

/// Enqueued only. Copies rows of panels to where they are wanted: of each place the slot whose
/// components go there, no_slot: they are there already.
void gather_rows_async(const PanelsView& panels, const Slot* slots, std::uint32_t count,
                       std::uint32_t dimension, float* components, const Stream& stream);

/// A grid has no more tiles of queries.
inline constexpr std::uint32_t near_queries_max = 65'535 * query_tile_rows;

/// Which rows of panels are within a score of which queries.
struct NearScan {
  PanelsView rows;  ///< width panel_rows; of the dead what is no number
  std::uint32_t row_count = 0;
  const Slot* slots = nullptr;         ///< [row]: what it is called; null: by its number
  PanelsView queries;                  ///< width query_tile_rows
  std::uint32_t query_count = 0;       ///< near_queries_max at most
  const RowFilter* filters = nullptr;  ///< [query]: self by slot, masks by row
  RowMasks masks;
  const float* scores_max = nullptr;  ///< [query], inclusive
  bool is_dot = false;
  VectorMatch* matches = nullptr;  ///< [room]; those beyond are counted only
  std::uint64_t room = 0;
  unsigned long long* match_count = nullptr;  ///< counts on
};

/// Enqueued only.
void near_scan_async(const NearScan& scan, const Stream& stream);

}  // namespace starling::gpu
