// SPDX-License-Identifier: Apache-2.0
// Empties neighbour lists on the device, and merges lists of several parts of a corpus or of
// several devices. Both functions only enqueue.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Writes {infinity, no_row} to all `count` entries.
void fill_lists_async(VectorNeighbor* lists, std::uint64_t count, const CudaStream& stream);

/// Writes the k nearest of `lists` and `others` to `lists`, query by query. Both are [queries][k],
/// ascending.
void merge_lists_async(VectorNeighbor* lists, const VectorNeighbor* others, std::uint32_t queries,
                       std::uint32_t k, const CudaStream& stream);

}  // namespace starling::gpu
