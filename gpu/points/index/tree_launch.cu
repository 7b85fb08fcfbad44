// SPDX-License-Identifier: Apache-2.0
// Launches the kernels that build a tree. They compute the keys, sort them, and make the leaves.
// Then each large level takes one launch, and one block makes all levels above the large ones. For
// the tree of all objects these kernels are replayed as a CUDA graph while their arguments stay the
// same: see tree_launch.hpp.
#include "starling/gpu/points/index/tree_kernel.cuh"
#include "starling/gpu/points/index/tree_launch.hpp"

namespace starling::gpu {
namespace {

constexpr unsigned one_block_threads = 1024;
/// One block builds all levels that have at most this many nodes, in one launch.
constexpr std::uint32_t one_block_nodes = 256;

std::uint32_t parts(std::uint32_t count, std::uint32_t size) {
  return count / size + (count % size != 0);
}

}  // namespace

void TreeArrays::reserve(std::uint32_t count) {
  const std::uint32_t leaves = parts(count, leaf_objects);
  points_.reserve(std::size_t{leaves} * leaf_objects);
  slots_.reserve(count);
  leaf_keys_.reserve(leaves);
  // Each level has an eighth as many nodes as the level below, rounded up.
  boxes_.reserve(leaves + leaves / (fan_out - 1) + levels_max);
}

void TreeArrays::lay_out(std::uint32_t count) {
  view_ = {.points = points_.data(),
           .slots = slots_.data(),
           .attached = {},
           .leaf_keys = leaf_keys_.data(),
           .boxes = boxes_.data(),
           .bounds = bounds_.data(),
           .count = count};
  std::uint32_t first = 0;
  for (std::uint32_t nodes = parts(count, leaf_objects); nodes > 0; nodes = parts(nodes, fan_out)) {
    const auto level = static_cast<std::size_t>(view_.levels++);
    view_.nodes[level] = nodes;
    view_.firsts[level] = first;
    first += nodes;
    if (nodes <= fan_out) break;
  }
}

void TreeArrays::fill_async(const LatticePoint* positions, const KeySort<TreeKey>::Sorted& sorted,
                            Bounds* box_of_all, const CudaStream& stream) {
  leaves_kernel<<<blocks_for(view_.count, leaves_threads), leaves_threads, 0, stream.get()>>>(
      view_, positions, sorted.keys, sorted.values,
      {points_.data(), slots_.data(), leaf_keys_.data(), boxes_.data()});
  check_launch();
  int level = 3;  // leaves_kernel makes levels 0 to 2
  for (; level < view_.levels && view_.nodes[static_cast<std::size_t>(level)] > one_block_nodes;
       ++level) {
    const std::uint64_t lanes =
        std::uint64_t{view_.nodes[static_cast<std::size_t>(level)]} * fan_out;
    boxes_kernel<<<blocks_for(lanes), block_threads, 0, stream.get()>>>(view_, boxes_.data(),
                                                                        level);
    check_launch();
  }
  upper_boxes_kernel<<<1, one_block_threads, 0, stream.get()>>>(view_, boxes_.data(), level,
                                                                box_of_all);
  check_launch();
}

std::uint64_t TreeArrays::bytes_used() const {
  return points_.room() * sizeof(TreePoint) + slots_.room() * sizeof(Slot) +
         leaf_keys_.room() * sizeof(TreeKey) + boxes_.room() * sizeof(TreeBox);
}

void DeviceTree::reserve(std::uint32_t count, const LayersView& layers) {
  all_.reserve(count);
  layers_.reserve(layers.entry_count);
  attached_.reserve(count, layers);
}

void DeviceTree::build_async(const ObjectsView& objects, std::uint32_t alive,
                             const LayersView& layers, Workspace& sort, const CudaStream& stream) {
  all_.lay_out(alive);
  layers_.lay_out(layers.entry_count);
  view_ = {all_.view(), layers_.view()};
  if (alive == 0) return;
  const Shape shape = {view_.all, objects, sort.memory()};
  replay_.run(shape, stream, [&] { enqueue_build(objects, sort, stream); });
  view_.all.attached = attached_.attach_async(objects, view_.all.slots, alive, layers, stream);
  if (layers.entry_count > 0) enqueue_layers(objects, layers, sort, stream);
}

void DeviceTree::enqueue_build(const ObjectsView& objects, Workspace& sort,
                               const CudaStream& stream) {
  keys_kernel<<<blocks_for(objects.slots), block_threads, 0, stream.get()>>>(
      objects, all_.bounds(), sort.keys(), sort.values());
  check_launch();
  const auto sorted = sort.sort_async(objects.slots, tree_key_bits, stream);
  all_.fill_async(objects.positions, sorted, objects.bounds, stream);
}

void DeviceTree::enqueue_layers(const ObjectsView& objects, const LayersView& layers,
                                Workspace& sort, const CudaStream& stream) {
  layer_keys_kernel<<<blocks_for(layers.entry_count), block_threads, 0, stream.get()>>>(
      objects, layers, layers_.bounds(), sort.keys(), sort.values());
  check_launch();
  const auto sorted = sort.sort_async(layers.entry_count, 64, stream);
  layers_.fill_async(objects.positions, sorted, nullptr, stream);
}

}  // namespace starling::gpu
