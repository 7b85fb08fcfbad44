// SPDX-License-Identifier: Apache-2.0
// Launches searches of the trees. Eight lanes serve each search if k is small, otherwise sixteen.
// Also computes the searches' spatial sort keys: see search_launch.hpp. The kernel is in
// tree_search_kernel.cuh.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/points/search/search_launch.hpp"
#include "starling/gpu/points/search/tree_search_kernel.cuh"

namespace starling::gpu {
namespace {

template <unsigned lanes, TreeShare share>
void search_by_group_async(const TreeView& tree, const ObjectsView& objects,
                           const SearchBatch& batch, const CudaStream& stream) {
  const std::uint32_t entries = entries_for(batch.k_max, leaf_objects);
  const std::size_t search_bytes = NearestInShared<lanes, leaf_objects>::bytes(entries);
  const auto kernel = group_search_kernel<lanes, share>;
  const unsigned threads = threads_that_fit(kernel, group_search_threads, search_bytes / lanes);
  const std::size_t shared_bytes = threads / lanes * search_bytes;
  kernel<<<blocks_for(std::uint64_t{batch.count} * lanes, threads), threads, shared_bytes,
           stream.get()>>>(tree, objects, batch, entries);
  check_launch();
}

template <TreeShare share>
void search_share_async(const TreeView& tree, const ObjectsView& objects, const SearchBatch& batch,
                        const CudaStream& stream) {
  if (batch.k_max <= k_class_limits[1])
    search_by_group_async<8, share>(tree, objects, batch, stream);
  else
    search_by_group_async<16, share>(tree, objects, batch, stream);
}

}  // namespace

void search_async(const TreesView& trees, const ObjectsView& objects, const SearchBatch& batch,
                  const CudaStream& stream) {
  if (batch.count == 0) return;
  TreeView all = trees.all;
  if (batch.routes == nullptr) all.attached = {};  // without routes there is no least_rank to test
  search_share_async<TreeShare::layer_0>(all, objects, batch, stream);
  if (batch.routes != nullptr && trees.layers.count > 0)
    search_share_async<TreeShare::other_layers>(trees.layers, objects, batch, stream);
}

void search_keys_async(const TreesView& trees, const ObjectsView& objects,
                       const SearchKeys<TreeKey>& searches, const CudaStream& stream) {
  if (searches.count == 0) return;
  search_keys_kernel<<<blocks_for(searches.count), block_threads, 0, stream.get()>>>(
      trees.all, objects, searches);
  check_launch();
}

}  // namespace starling::gpu
