// Exact k-NN over all slots without an index: a small tick is answered before one would be built.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

/// A block reads all slots for each search.
void flat_search_async(const ObjectsView& objects, const SearchBatch& batch,
                       const CudaStream& stream);

}  // namespace starling::gpu
