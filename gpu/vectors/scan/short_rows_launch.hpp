// SPDX-License-Identifier: Apache-2.0
// Enqueues the scan for very many queries of few components. workspace.cpp calls it.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// The arguments of a scan of all rows of a corpus for all queries of a batch. Queries need no
/// packing, and the scan needs no memory except the lists.
struct ThreadScan {
  PanelsView corpus;  ///< width panel_rows
  std::uint32_t row_end = 0;
  std::uint32_t first_row = 0;     ///< see VectorScan::first_row
  const float* queries = nullptr;  ///< [query][dimension]
  std::uint32_t query_count = 0;   ///< at least 1
  std::uint32_t dimension = 1;
  std::uint32_t first_self = 0;  ///< see VectorScan::first_self
  std::uint32_t k = 1;
  bool is_dot = false;
  VectorNeighbor* lists = nullptr;  ///< [query][k]
};

/// Returns true if this scan can answer `query_count` queries of this dimension and k, and is the
/// fastest scan for them.
bool is_for_threads(std::uint32_t query_count, std::uint32_t dimension, std::uint32_t k);

/// Enqueued only. Writes scan.lists. scan.dimension and scan.k must be in the range of
/// is_for_threads().
void thread_scan_async(const ThreadScan& scan, const CudaStream& stream);

}  // namespace starling::gpu
