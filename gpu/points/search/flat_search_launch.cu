// SPDX-License-Identifier: Apache-2.0
// Launches one block for each search, with as many warps as shared memory has room for: see
// flat_search_launch.hpp.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/search/flat_search_kernel.cuh"
#include "starling/gpu/points/search/flat_search_launch.hpp"

namespace starling::gpu {

void flat_search_async(const ObjectsView& objects, const SearchBatch& batch,
                       const CudaStream& stream) {
  if (batch.count == 0) return;
  const std::uint32_t entries = entries_for(batch.k_max, warp_lanes);
  const std::size_t warp_bytes = FlatNearest::bytes(entries);
  const unsigned threads =
      threads_that_fit(flat_search_kernel, flat_warps_max * warp_lanes, warp_bytes / warp_lanes);
  const std::size_t shared_bytes = threads / warp_lanes * warp_bytes;
  flat_search_kernel<<<batch.count, threads, shared_bytes, stream.get()>>>(objects, batch, entries);
  check_launch();
}

}  // namespace starling::gpu
