// SPDX-License-Identifier: Apache-2.0
// Empties neighbour lists on the device, and merges the lists that were found in several parts of a
// corpus or on several devices. Both functions only enqueue.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Writes {infinity, no_row} to all `count` entries of `lists`.
void fill_lists_async(VectorNeighbor* lists, std::uint64_t count, const CudaStream& stream);

/// For each query, writes the k nearest entries of its list in `lists` and its list in `others` to
/// `lists`. Both arrays are [queries][k], each list ascending.
void merge_lists_async(VectorNeighbor* lists, const VectorNeighbor* others, std::uint32_t queries,
                       std::uint32_t k, const CudaStream& stream);

}  // namespace starling::gpu
