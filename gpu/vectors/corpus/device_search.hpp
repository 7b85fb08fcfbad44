// SPDX-License-Identifier: Apache-2.0
// The arguments of a search whose queries and lists are already in device memory. The scans and the
// published methods take a DeviceSearch.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// A search of a corpus. All arrays are in device memory.
struct DeviceSearch {
  const float* queries = nullptr;  ///< [count][dimension]
  std::uint32_t count = 0;
  std::uint32_t k = 1;              ///< 1 to vector_k_max
  VectorRow first_self = no_row;    ///< see VectorSearch::first_self
  VectorNeighbor* lists = nullptr;  ///< [count][k]
  /// [count]: own row and mask of each query. If `filters` is not null, it replaces first_self, and
  /// the search does not use the corpus' shadow.
  const RowFilter* filters = nullptr;
  RowMasks masks{};  ///< RowFilter::mask is an index into these masks
};

}  // namespace starling::gpu
