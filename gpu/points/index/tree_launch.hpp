// SPDX-License-Identifier: Apache-2.0
// Builds the index of a tick in three dimensions. The index has two trees: one of all living
// objects, and one of the layers for filters. DeviceTree owns the memory of the index. TickIndex
// calls DeviceTree.
#pragma once

#include <algorithm>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/graph_replay.hpp"
#include "starling/gpu/device/key_sort.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/index/attached.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/index/tree_view.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

/// Owns the arrays of one tree, either of all objects or of the layers, and launches the kernels
/// that fill them.
class TreeArrays {
 public:
  explicit TreeArrays(DeviceMemory& memory)
      : points_(memory), slots_(memory), leaf_keys_(memory), boxes_(memory), bounds_(memory, 1) {}

  /// Makes room for `count` places. Do not call while the device may still use the tree.
  void reserve(std::uint32_t count);
  /// Sets the view to a tree of `count` places: computes the levels, and the index of each level's
  /// first box.
  void lay_out(std::uint32_t count);
  const TreeView& view() const { return view_; }
  /// Returns a device pointer to the box that the tree's keys are relative to. The kernel that
  /// computes the keys writes this box.
  Bounds* bounds() { return bounds_.data(); }

  /// Enqueues the kernels that make leaves and boxes from the objects' sorted keys and slots. If
  /// `box_of_all` is not null, the kernels also write the box around all objects to *box_of_all.
  void fill_async(const LatticePoint* positions, const KeySort<TreeKey>::Sorted& sorted,
                  Bounds* box_of_all, const CudaStream& stream);

  std::uint64_t bytes_used() const;

 private:
  DeviceBuffer<TreePoint> points_;
  DeviceBuffer<Slot> slots_;
  DeviceBuffer<TreeKey> leaf_keys_;
  DeviceBuffer<TreeBox> boxes_;
  DeviceBuffer<Bounds> bounds_;
  TreeView view_;
};

class DeviceTree {
 public:
  using View = TreesView;
  using SearchKey = TreeKey;
  static constexpr int search_key_bits = tree_key_bits;
  /// The group size of layers (see Layer). A group is a leaf, because no leaf has objects of two
  /// layers.
  static constexpr std::uint32_t entry_group = leaf_objects;

  /// Working memory of build_async. All DeviceTrees that one CUDA stream builds may share it.
  class Workspace : public KeySort<TreeKey> {
   public:
    using KeySort<TreeKey>::KeySort;
    /// Makes room to build first a tree of the objects in `slots` slots, and then a tree of
    /// `layers`.
    void reserve(std::uint32_t slots, const LayersView& layers) {
      KeySort<TreeKey>::reserve(std::max(slots, layers.entry_count));
    }
  };

  explicit DeviceTree(DeviceMemory& memory) : all_(memory), layers_(memory), attached_(memory) {}

  /// Makes room for `count` objects and the layers. Do not call while the device may still use the
  /// trees.
  void reserve(std::uint32_t count, const LayersView& layers);

  /// Enqueues building the index of the living objects and of the layers. `alive` is the number of
  /// living objects. If `alive` is not 0, also replaces `objects.bounds`, which may be too large,
  /// by the exact box around all living objects. `sort` must have room for all slots and for all
  /// entries of the layers.
  void build_async(const ObjectsView& objects, std::uint32_t alive, const LayersView& layers,
                   Workspace& sort, const CudaStream& stream);

  const TreesView& view() const { return view_; }
  std::uint64_t bytes_used() const {
    return all_.bytes_used() + layers_.bytes_used() + attached_.bytes_used();
  }

 private:
  /// All values with which the kernels that build layer 0 are launched.
  struct Shape {
    TreeView view;
    ObjectsView objects;
    Workspace::Memory sort{};
    bool operator==(const Shape&) const = default;
  };

  void enqueue_build(const ObjectsView& objects, Workspace& sort, const CudaStream& stream);
  void enqueue_layers(const ObjectsView& objects, const LayersView& layers, Workspace& sort,
                      const CudaStream& stream);

  TreeArrays all_;
  TreeArrays layers_;
  Attached attached_;
  TreesView view_;
  Replay<Shape> replay_;
};

}  // namespace starling::gpu
