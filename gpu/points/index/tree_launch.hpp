// SPDX-License-Identifier: Apache-2.0
// Builds the index of a tick in space, and owns the index's memory. TickIndex calls it.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/graph_replay.hpp"
#include "starling/gpu/device/key_sort.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/index/tree_view.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

class DeviceTree {
 public:
  using View = TreeView;
  using Workspace = KeySort<TreeKey>;
  using SearchKey = TreeKey;
  static constexpr int search_key_bits = tree_key_bits;

  explicit DeviceTree(DeviceMemory& memory)
      : points_(memory), slots_(memory), leaf_keys_(memory), boxes_(memory), bounds_(memory, 1) {}

  /// Makes room for `count` objects. Do not call while the device may still use the tree.
  void reserve(std::uint32_t count);

  /// Enqueues building the index of the living objects; `alive` is their number. Makes the objects'
  /// bounds exact. `sort` is working memory, with room for all slots.
  void build_async(const ObjectsView& objects, std::uint32_t alive, Workspace& sort,
                   const CudaStream& stream);

  const TreeView& view() const { return view_; }
  std::uint64_t bytes_used() const;

 private:
  /// All values that a build's kernels are launched with.
  struct Shape {
    TreeView view;
    ObjectsView objects;
    Workspace::Memory sort{};
    bool operator==(const Shape&) const = default;
  };

  void lay_out(std::uint32_t count);
  void enqueue_build(const ObjectsView& objects, Workspace& sort, const CudaStream& stream);

  DeviceBuffer<TreePoint> points_;
  DeviceBuffer<Slot> slots_;
  DeviceBuffer<TreeKey> leaf_keys_;
  DeviceBuffer<TreeBox> boxes_;
  DeviceBuffer<Bounds> bounds_;
  TreeView view_;
  Replay<Shape> replay_;
};

}  // namespace starling::gpu
