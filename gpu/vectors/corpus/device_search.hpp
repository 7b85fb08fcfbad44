// SPDX-License-Identifier: Apache-2.0
// A VectorSearch whose queries and lists already lie on the device. The scans and the published
// methods take it as their argument.
#pragma once

#include <cstdint>

#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// A search of a corpus; queries and lists lie on the device.
struct DeviceSearch {
  const float* queries = nullptr;  ///< [count][dimension]
  std::uint32_t count = 0;
  std::uint32_t k = 1;              ///< 1 to vector_k_max
  VectorRow first_self = no_row;    ///< as VectorSearch::first_self
  VectorNeighbor* lists = nullptr;  ///< [count][k]
  /// [count]: replaces first_self; null: no filters. A search with filters does not use the corpus'
  /// shadow.
  const RowFilter* filters = nullptr;
  RowMasks masks{};  ///< the masks that `filters` index
};

}  // namespace starling::gpu
