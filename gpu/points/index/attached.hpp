// SPDX-License-Identifier: Apache-2.0
// Copies the objects' tags and ranks by age, which filters test, into an array indexed by place.
// DeviceGrid and DeviceTree each own an Attached.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/index/attached_view.hpp"
#include "starling/gpu/points/index/layers.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

class Attached {
 public:
  explicit Attached(DeviceMemory& memory) : tags_and_ranks_(memory) {}

  /// Makes room for `count` places if searches in layer 0 test objects. Do not call while the
  /// device may still use the array.
  void reserve(std::uint32_t count, const LayersView& layers);
  /// Enqueues writing the tags and ranks of `count` objects, and returns a view of the written
  /// array. `slots` is a device array with the objects' slots, indexed by place. If no search in
  /// layer 0 tests objects, or if `count` is 0, does nothing and returns an empty view.
  AttachedView attach_async(const ObjectsView& objects, const Slot* slots, std::uint32_t count,
                            const LayersView& layers, const CudaStream& stream);

  std::uint64_t bytes_used() const { return tags_and_ranks_.room() * sizeof(uint2); }

 private:
  DeviceBuffer<uint2> tags_and_ranks_;
};

}  // namespace starling::gpu
