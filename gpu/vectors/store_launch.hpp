// SPDX-License-Identifier: Apache-2.0
// Enqueues what a vector store does in addition to searches: it writes rows in place, reads rows
// back, and finds the rows whose scores are within a limit. store.cpp calls these functions.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/knn/vectors/store.hpp"

namespace starling::gpu {

/// The rows of one VectorStore::apply().
struct AppliedRows {
  const float* components = nullptr;  ///< [count][dimension]
  const Slot* slots = nullptr;        ///< [count]; null: row i has slot i
  /// Bit i % 64 of word i / 64 says whether row i is alive. Dead rows become NaN.
  const std::uint64_t* alive = nullptr;
  std::uint32_t count = 0;
  std::uint32_t dimension = 1;
};

/// Enqueued only. Writes `rows` to their slots in `groups`, which holds panels of panel_rows rows
/// and has room for the largest slot.
void write_rows_async(const AppliedRows& rows, float4* groups, const CudaStream& stream);

/// Enqueued only. Copies row slots[i] of `panels` to row i of `components` [count][dimension]. If
/// slots[i] is no_slot, row i stays as it is.
void gather_rows_async(const PanelsView& panels, const Slot* slots, std::uint32_t count,
                       std::uint32_t dimension, float* components, const CudaStream& stream);

/// The most queries of a near scan: a launch has at most 65,535 tiles of queries.
inline constexpr std::uint32_t near_queries_max = 65'535 * query_tile_rows;

/// The arguments of a near scan. It finds the rows whose score for a query is at most that query's
/// scores_max.
struct NearScan {
  PanelsView rows;  ///< width panel_rows; dead rows are NaN
  std::uint32_t row_count = 0;
  const Slot* slots = nullptr;         ///< [row]: the slot that a match reports; null: row index
  PanelsView queries;                  ///< width query_tile_rows
  std::uint32_t query_count = 0;       ///< at most near_queries_max
  const RowFilter* filters = nullptr;  ///< [query]: `self` is a slot; masks have a bit for each row
  RowMasks masks;
  const float* scores_max = nullptr;  ///< [query]; a row with exactly this score matches
  Recipe recipe = Recipe::squared_differences;
  VectorMatch* matches = nullptr;  ///< [room]; further matches are only counted
  std::uint64_t room = 0;
  unsigned long long* match_count = nullptr;  ///< the scan adds the number of its matches
};

/// Enqueued only. Appends matches to scan.matches from index *scan.match_count on, in no order.
void near_scan_async(const NearScan& scan, const CudaStream& stream);

}  // namespace starling::gpu
