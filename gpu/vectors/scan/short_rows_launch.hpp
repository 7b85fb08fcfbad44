// The scan for very many queries of few components.
#pragma once

#include <cstdint>

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// All rows of a corpus against all queries of a batch, which need no packing, and no memory but
/// their lists.
struct ThreadScan {
  PanelsView corpus;  ///< width panel_rows
  std::uint32_t row_end = 0;
  std::uint32_t first_row = 0;     ///< as VectorScan's
  const float* queries = nullptr;  ///< [query][dimension]
  std::uint32_t query_count = 0;   ///< at least 1
  std::uint32_t dimension = 1;
  std::uint32_t first_self = 0;  ///< as VectorScan's
  std::uint32_t k = 1;
  bool is_dot = false;
  VectorNeighbor* lists = nullptr;  ///< [query][k]
};

/// Whether this scan is the fastest for so many queries, and can answer them.
bool is_for_threads(std::uint32_t query_count, std::uint32_t dimension, std::uint32_t k);

/// Enqueued only.
void thread_scan_async(const ThreadScan& scan, const Stream& stream);

}  // namespace starling::gpu
