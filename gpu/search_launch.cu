#include "gpu/block_memory.hpp"
#include "gpu/group_search_kernel.cuh"
#include "gpu/launch_grid.cuh"
#include "gpu/search_launch.hpp"

namespace starling::gpu {
namespace {

/// Of a block: as many as its memory holds, a warp's at least.
unsigned threads_that_fit(std::size_t search_bytes, unsigned lanes) {
  unsigned threads = group_search_threads;
  while (threads > warp_lanes && threads / lanes * search_bytes > block_memory_max()) threads /= 2;
  return threads;
}

template <int dimensions, unsigned lanes>
void search_by_group_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                           const SearchBatch& batch, const Stream& stream) {
  const std::uint32_t entries = NearestInShared<lanes>::entries_for(batch.k_max);
  const std::size_t search_bytes = NearestInShared<lanes>::bytes(entries);
  const unsigned threads = threads_that_fit(search_bytes, lanes);
  const std::size_t shared_bytes = threads / lanes * search_bytes;
  const auto kernel = group_search_kernel<dimensions, lanes>;
  allow_block_memory(kernel, shared_bytes);
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
