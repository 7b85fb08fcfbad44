// SPDX-License-Identifier: Apache-2.0
// Exact k-NN over all slots, without an index. For a small tick this takes less time than building
// an index. GpuEngine calls it for the lists of small ticks, and TickIndex calls it for questions
// about small ticks.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// Enqueues the searches of a batch. For each search a block reads all slots.
void flat_search_async(const ObjectsView& objects, const SearchBatch& batch,
                       const CudaStream& stream);

}  // namespace starling::gpu
