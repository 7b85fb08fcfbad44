#include <algorithm>

#include "gpu/block_memory.hpp"
#include "gpu/flat_search_kernel.cuh"
#include "gpu/flat_search_launch.hpp"

namespace starling::gpu {

template <int dimensions>
void flat_search_async(const ObjectsView& objects, const SearchBatch& batch, const Stream& stream) {
  using Nearest = NearestInShared<warp_lanes>;
  if (batch.count == 0) return;
  const std::uint32_t entries = Nearest::entries_for(batch.k_max);
  const std::size_t warp_bytes = Nearest::bytes(entries);
  unsigned warps = flat_warps_max;
  while (warps > 1 && warps * warp_bytes > block_memory_max()) warps /= 2;
  const std::size_t block_bytes = warps * warp_bytes;
  const auto kernel = flat_search_kernel<dimensions>;
  allow_block_memory(kernel, block_bytes);
  kernel<<<batch.count, warps * warp_lanes, block_bytes, stream.get()>>>(objects, batch, entries);
  check_launch();
}

template void flat_search_async<2>(const ObjectsView&, const SearchBatch&, const Stream&);
template void flat_search_async<3>(const ObjectsView&, const SearchBatch&, const Stream&);

}  // namespace starling::gpu
