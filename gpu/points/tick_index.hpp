// SPDX-License-Identifier: Apache-2.0
// A TickIndex holds the index that the searches of one tick read. For a small tick it holds a copy
// of the objects' positions instead. Questions read a TickIndex while the next tick is computed.
// FinishedTick owns two TickIndexes.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/index/device_index.hpp"
#include "starling/gpu/points/objects/device_objects.hpp"
#include "starling/gpu/points/search/flat_search_launch.hpp"
#include "starling/gpu/points/search/search_launch.hpp"

namespace starling::gpu {

template <int dimensions>
class TickIndex {
 public:
  using Index = DeviceIndex<dimensions>;
  using Workspace = typename Index::Workspace;

  explicit TickIndex(DeviceMemory& memory) : index_(memory), positions_(memory) {}

  /// Enqueues building the index of the living objects and of the layers. Do not call while a
  /// question reads this TickIndex. Throws what DeviceBuffer throws.
  void build_async(DeviceObjects& objects, const LayersView& layers, Workspace& workspace,
                   const CudaStream& stream) {
    index_.reserve(objects.alive_count(), layers);
    workspace.reserve(objects.slot_count(), layers);
    index_.build_async(objects.view(), objects.alive_count(), layers, workspace, stream);
    copied_ = nullptr;
    ready_.record(stream);
  }

  /// Enqueues copying the objects' positions, which searches then read instead of an index. Do not
  /// call while a question reads this TickIndex. Throws what DeviceBuffer throws.
  void copy_async(const ObjectsView& objects, const CudaStream& stream) {
    positions_.reserve(objects.slots);
    copy_on_device_async(objects.positions, positions_, objects.slots, stream);
    slots_ = objects.slots;
    copied_ = positions_.data();
    ready_.record(stream);
  }

  /// Returns the event after which this TickIndex may be searched.
  const Event& ready() const { return ready_; }

  /// Enqueues the searches of `batch`. They read the positions of the objects from this TickIndex,
  /// and the ids from `objects`. They read the other arrays of `objects` only if a search has a
  /// filter, a moving anchor, or a list of the last tick.
  void search_async(const ObjectsView& objects, const SearchBatch& batch,
                    const CudaStream& stream) const {
    if (copied_ == nullptr) return gpu::search_async(index_.view(), objects, batch, stream);
    ObjectsView as_copied = objects;
    as_copied.positions = copied_;
    as_copied.slots = slots_;
    flat_search_async(as_copied, batch, stream);
  }

  /// Returns the index that was built last.
  const Index& index() const { return index_; }
  std::uint64_t bytes_used() const {
    return index_.bytes_used() + positions_.room() * sizeof(LatticePoint);
  }

 private:
  Index index_;
  DeviceBuffer<LatticePoint> positions_;  ///< [slot]
  LatticePoint* copied_ = nullptr;        ///< positions_, or null if searches read the index
  std::uint32_t slots_ = 0;
  Event ready_;
};

}  // namespace starling::gpu
