// SPDX-License-Identifier: Apache-2.0
// Describes the objects' arrays on the device, and launches the kernels that update them.
// DeviceObjects owns the arrays and calls these functions.
#pragma once

#include <cstdint>
#include <limits>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/objects/bounds.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// The x of a slot without a living object. It lies outside the lattice.
inline constexpr std::int32_t nowhere = std::numeric_limits<std::int32_t>::min();

/// The objects' arrays, indexed by slot. The pointers are device pointers.
struct ObjectsView {
  LatticePoint* positions = nullptr;
  ObjectId* ids = nullptr;
  std::int64_t* times_us = nullptr;
  std::uint32_t* tags = nullptr;
  Bounds* bounds = nullptr;  ///< a single box around all living objects; may be too large
  std::uint32_t slots = 0;   ///< the length of each array

  bool operator==(const ObjectsView&) const = default;
};

/// Marks the slots from `first` up to, but not including, `end` as empty. If `first` is 0, also
/// resets the bounds.
void clear_objects_async(const ObjectsView& objects, Slot first, Slot end,
                         const CudaStream& stream);

/// Writes the ids of the slots' new owners. Call before apply_rows_async. `births` is on the device
/// or in pinned memory. No slot appears twice in `births`.
void apply_births_async(const ObjectBirth* births, std::uint32_t count, const ObjectsView& objects,
                        const CudaStream& stream);
/// Sums over all rows applied so far.
struct ObjectChanges {
  std::int32_t alive = 0;     ///< objects that came, minus objects that left
  std::uint32_t members = 0;  ///< increases whenever objects came, left or changed their tags
};
/// Writes the rows to the objects' arrays, adds what the rows changed to `changes`, and widens the
/// bounds to hold the rows' positions. `rows` lies on the device or in pinned memory, and `changes`
/// on the device. No slot appears twice in `rows`.
void apply_rows_async(const ObjectRow* rows, std::uint32_t count, const ObjectsView& objects,
                      ObjectChanges* changes, const CudaStream& stream);

/// Sets alive[i] to 1 if slots[i] has a living object, otherwise to 0. A slot may be no_slot. The
/// pointers are device pointers.
void find_alive_async(const Slot* slots, std::uint32_t count, const ObjectsView& objects,
                      std::uint8_t* alive, const CudaStream& stream);

}  // namespace starling::gpu
