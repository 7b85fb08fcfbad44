#include <bit>

#include "gpu/group_search_kernel.cuh"
#include "gpu/launch_grid.cuh"
#include "gpu/search_launch.hpp"

namespace starling::gpu {
namespace {

std::uint32_t entries_for(std::uint32_t k) {
  return std::bit_ceil(size_limit(k) + leaf_objects);
}

/// Of a block: as many as its device's shared memory holds, a warp's at least. 1,024 neighbours
/// take 24 KiB a search; the smallest of today's devices have 99 KiB.
unsigned threads_that_fit(std::size_t search_bytes, unsigned lanes) {
  int device = 0;
  int bytes_max = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  unsigned threads = group_search_threads;
  while (threads > 32 && threads / lanes * search_bytes > static_cast<std::size_t>(bytes_max))
    threads /= 2;
  return threads;
}

template <int dimensions, unsigned lanes>
void search_by_group_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                           const SearchBatch& batch, const Stream& stream) {
  const std::uint32_t entries = entries_for(batch.k_max);
  const std::size_t search_bytes = NearestInShared<lanes>::bytes(entries);
  const unsigned threads = threads_that_fit(search_bytes, lanes);
  const std::size_t shared_bytes = threads / lanes * search_bytes;
  const auto kernel = group_search_kernel<dimensions, lanes>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)));
  kernel<<<blocks_for(std::uint64_t{batch.count} * lanes, threads), threads, shared_bytes,
           stream.get()>>>(tree, objects, batch, entries);
  check_launch();
}

}  // namespace

template <int dimensions>
void search_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                  const SearchBatch& batch, const Stream& stream) {
  if (batch.count == 0) return;
  if (batch.k_max <= k_class_limits[1])
    search_by_group_async<dimensions, 8>(tree, objects, batch, stream);
  else
    search_by_group_async<dimensions, 16>(tree, objects, batch, stream);
}

template <int dimensions>
void search_keys_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                       const SearchSpec* specs, const std::uint32_t* numbers, std::uint32_t count,
                       typename TreeTypes<dimensions>::Key* keys, std::uint32_t* values,
                       const Stream& stream) {
  if (count == 0) return;
  search_keys_kernel<dimensions><<<blocks_for(count), block_threads, 0, stream.get()>>>(
      tree, objects, specs, numbers, count, keys, values);
  check_launch();
}

template void search_async<2>(const TreeView<2>&, const ObjectsView&, const SearchBatch&,
                              const Stream&);
template void search_async<3>(const TreeView<3>&, const ObjectsView&, const SearchBatch&,
                              const Stream&);
template void search_keys_async<2>(const TreeView<2>&, const ObjectsView&, const SearchSpec*,
                                   const std::uint32_t*, std::uint32_t, std::uint32_t*,
                                   std::uint32_t*, const Stream&);
template void search_keys_async<3>(const TreeView<3>&, const ObjectsView&, const SearchSpec*,
                                   const std::uint32_t*, std::uint32_t, std::uint64_t*,
                                   std::uint32_t*, const Stream&);

}  // namespace starling::gpu
