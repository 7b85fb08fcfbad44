// SPDX-License-Identifier: Apache-2.0
// Exact k-NN over all slots, without an index: for a small tick, building an index would take
// longer. GpuEngine searches small ticks with it, and TickIndex answers questions about small
// ticks.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// Enqueues the searches of a batch. For each search a block reads all slots.
void flat_search_async(const ObjectsView& objects, const SearchBatch& batch,
                       const CudaStream& stream);

}  // namespace starling::gpu
