// SPDX-License-Identifier: Apache-2.0
// Builds the index of a tick on the plane: first layer 0, and then the layers of filters.
// DeviceGrid owns the index's memory. GridWorkspace owns the working memory, which several
// DeviceGrids share. TickIndex owns a DeviceGrid and calls it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/graph_replay.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/index/attached.hpp"
#include "starling/gpu/points/index/grid_view.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

struct GridMemory;

/// Working memory of DeviceGrid::build_async. All DeviceGrids that one CUDA stream builds may share
/// it.
class GridWorkspace {
 public:
  explicit GridWorkspace(DeviceMemory& memory)
      : counts_(memory),
        ranks_(memory),
        by_cell_(memory),
        large_count_(memory, 1),
        large_cells_(memory),
        scratch_(memory) {}

  /// Makes room to build a grid from `slots` slots and these layers.
  void reserve(std::uint32_t slots, const LayersView& layers);
  std::uint64_t bytes_used() const;

 private:
  friend class DeviceGrid;

  DeviceBuffer<std::uint32_t> counts_;
  DeviceBuffer<uint4> ranks_;
  DeviceBuffer<int4> by_cell_;
  DeviceBuffer<std::uint32_t> large_count_;
  DeviceBuffer<std::uint32_t> large_cells_;
  DeviceBuffer<std::byte> scratch_;
};

class DeviceGrid {
 public:
  using View = GridView;
  using Workspace = GridWorkspace;
  using SearchKey = GridKey;
  static constexpr int search_key_bits = grid_key_bits;
  /// The group size of layers: a layer of a grid may have any number of entries.
  static constexpr std::uint32_t entry_group = 1;

  explicit DeviceGrid(DeviceMemory& memory)
      : geometry_(memory, 1),
        starts_(memory),
        offsets_(memory),
        points_(memory),
        slots_(memory),
        attached_(memory) {}

  /// Makes room for `count` objects and the layers. Do not call while the device may still use the
  /// grid.
  void reserve(std::uint32_t count, const LayersView& layers);

  /// Enqueues building the index of the living objects and of the layers. `alive` is the number of
  /// living objects. Also makes `objects.bounds` exact.
  void build_async(const ObjectsView& objects, std::uint32_t alive, const LayersView& layers,
                   Workspace& workspace, const CudaStream& stream);

  const GridView& view() const { return view_; }
  std::uint64_t bytes_used() const;

 private:
  /// All values that the kernels of a build of layer 0 are launched with.
  struct Shape {
    GridView view;
    ObjectsView objects;
    std::array<const void*, 6> workspace{};
    bool operator==(const Shape&) const = default;
  };

  GridMemory memory(Workspace& workspace);
  void enqueue_build(const ObjectsView& objects, Workspace& workspace, const CudaStream& stream);
  void enqueue_layers(const ObjectsView& objects, const LayersView& layers, Workspace& workspace,
                      const CudaStream& stream);

  DeviceBuffer<GridGeometry> geometry_;
  DeviceBuffer<std::uint32_t> starts_;
  DeviceBuffer<std::uint32_t> offsets_;
  DeviceBuffer<int2> points_;
  DeviceBuffer<Slot> slots_;
  Attached attached_;
  GridView view_;
  Replay<Shape> replay_;
};

}  // namespace starling::gpu
