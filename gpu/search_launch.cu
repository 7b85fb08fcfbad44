#include "gpu/grid.cuh"
#include "gpu/group_search_kernel.cuh"
#include "gpu/search_launch.hpp"
#include "gpu/warp_search_kernel.cuh"

namespace starling::gpu {
namespace {

template <int dimensions, int share>
void search_by_group_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                           const SearchBatch& batch, const Stream& stream) {
  const std::uint64_t lanes = std::uint64_t{batch.count} * group_lanes;
  group_search_kernel<dimensions, share>
      <<<blocks_for(lanes, group_search_threads), group_search_threads, 0, stream.get()>>>(
          tree, objects, batch);
  check_launch();
}

}  // namespace

template <int dimensions>
void search_async(const TreeView<dimensions>& tree, const ObjectsView& objects,
                  const SearchBatch& batch, const Stream& stream) {
  if (batch.count == 0) return;
  if (batch.k_max <= group_k_classes[0])
    return search_by_group_async<dimensions, 4>(tree, objects, batch, stream);
  if (batch.k_max <= group_k_classes[1])
    return search_by_group_async<dimensions, 8>(tree, objects, batch, stream);
  warp_search_kernel<dimensions>
      <<<batch.count, warp_lanes, buffer_bytes(batch.k_max), stream.get()>>>(tree, objects, batch);
  check_launch();
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
