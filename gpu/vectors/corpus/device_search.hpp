// SPDX-License-Identifier: Apache-2.0
// The arguments of a search whose queries and lists already lie on the device. The scans and the
// published methods take a DeviceSearch.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// A search of a corpus. All arrays lie on the device.
struct DeviceSearch {
  const float* queries = nullptr;  ///< [count][dimension]
  std::uint32_t count = 0;
  std::uint32_t k = 1;              ///< 1 to vector_k_max
  VectorRow first_self = no_row;    ///< see VectorSearch::first_self
  VectorNeighbor* lists = nullptr;  ///< [count][k]
  /// [count]: each query's own row and mask; used instead of first_self. null: no filters. A search
  /// with filters does not use the corpus' shadow.
  const RowFilter* filters = nullptr;
  RowMasks masks{};  ///< RowFilter::mask is an index of one of these masks
};

}  // namespace starling::gpu
