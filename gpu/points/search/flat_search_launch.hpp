// SPDX-License-Identifier: Apache-2.0
// Exact k-NN over all slots, without an index: a small tick is answered sooner than an index is
// built. GpuEngine searches small ticks with it, TickIndex answers questions about them.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// Enqueues the searches of a batch. For each search a block reads all slots.
void flat_search_async(const ObjectsView& objects, const SearchBatch& batch,
                       const CudaStream& stream);

}  // namespace starling::gpu
