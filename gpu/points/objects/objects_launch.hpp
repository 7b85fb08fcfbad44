// The objects on the device, by slot, and the kernels that bring them up to date. DeviceObjects
// owns the arrays.
#pragma once

#include <cstdint>
#include <limits>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/objects/bounds.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// x of a slot without a living object: outside the lattice.
inline constexpr std::int32_t nowhere = std::numeric_limits<std::int32_t>::min();

/// Device pointers, by slot.
struct ObjectsView {
  LatticePoint* positions = nullptr;
  ObjectId* ids = nullptr;
  std::int64_t* times_us = nullptr;
  std::uint32_t* tags = nullptr;
  Bounds* bounds = nullptr;  ///< one, around all living objects and perhaps more
  std::uint32_t slots = 0;   ///< how many there are

  bool operator==(const ObjectsView&) const = default;
};

/// Slots from `first` up to `end` hold nobody; from 0 on, there are no bounds either.
void clear_objects_async(const ObjectsView& objects, Slot first, Slot end,
                         const CudaStream& stream);

/// Writes the ids of new owners, then the rows. Both arrays are the device's; a slot appears at
/// most once in each.
void apply_births_async(const ObjectBirth* births, std::uint32_t count, const ObjectsView& objects,
                        const CudaStream& stream);
/// What rows changed is added to `changes`; the bounds are widened to hold them.
struct ObjectChanges {
  std::int32_t alive = 0;     ///< came less left
  std::uint32_t members = 0;  ///< more each time that objects came, left or changed their tags
};
void apply_rows_async(const ObjectRow* rows, std::uint32_t count, const ObjectsView& objects,
                      ObjectChanges* changes, const CudaStream& stream);

}  // namespace starling::gpu
