// SPDX-License-Identifier: Apache-2.0
// DeviceObjects holds the objects as of the last applied rows: the objects' arrays on the device,
// and copies on the host for exports and for the plans of every-object queries. GpuEngine owns a
// DeviceObjects and uses it on the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/objects/device_rows.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

class DeviceObjects {
 public:
  DeviceObjects(DeviceMemory& memory, const CudaStream& stream);

  /// Returns how many slots there are after `births` are applied.
  std::size_t slots_with(std::span<const ObjectBirth> births) const;
  /// Returns true if the arrays have room for slots_with(births) slots.
  bool has_room(std::span<const ObjectBirth> births) const;
  /// Makes room for slots_with(births) slots. An array that grows gets another address, and reserve
  /// then waits for the CUDA stream. If reserve throws, no object has changed.
  void reserve(std::span<const ObjectBirth> births, const CudaStream& stream);

  /// Enqueues the kernels that apply the rows. There must be room for the births of `staged`. If
  /// `rows` are copied to the device, the copy must come earlier in the CUDA stream, or the CUDA
  /// stream must wait for it. If apply_async throws, the rows may or may not be applied. Applying
  /// them again gives the right state in both cases.
  void apply_async(const Staging& staged, const DeviceRows& rows, const CudaStream& stream);
  /// The change counts on the device, and the pinned memory to which a later kernel stores them.
  struct Telling {
    const ObjectChanges* changes;
    ObjectChanges* host;
  };
  Telling to_tell() { return {changes_.data(), host_changes_.data()}; }
  /// Updates alive_count() and take_membership_changed() from the change counts on the host. Call
  /// after the CUDA stream has stored the counts there.
  void applied();

  ObjectsView view() {
    return {positions_.data(), ids_.data(), times_us_.data(), tags_.data(), bounds_.data(), slots_};
  }

  std::uint32_t slot_count() const { return static_cast<std::uint32_t>(host_ids_.size()); }
  std::uint32_t alive_count() const { return alive_count_; }
  ObjectId id(Slot slot) const { return host_ids_[slot]; }

  /// Returns true if an object came, left or changed its tags since the last call.
  bool take_membership_changed();

  /// Copies positions and tags to the host, for the three functions below. Waits for the CUDA
  /// stream.
  void fetch(const CudaStream& stream);
  bool is_alive(Slot slot) const { return host_positions_[slot].x != nowhere; }
  std::uint32_t tags(Slot slot) const { return host_tags_[slot]; }
  const LatticePoint& position(Slot slot) const { return host_positions_[slot]; }

  std::uint64_t bytes_used() const;

 private:
  DeviceBuffer<LatticePoint> positions_;
  DeviceBuffer<ObjectId> ids_;
  DeviceBuffer<std::int64_t> times_us_;
  DeviceBuffer<std::uint32_t> tags_;
  DeviceBuffer<Bounds> bounds_;
  DeviceBuffer<ObjectChanges> changes_;  ///< sums since construction
  PinnedBuffer<ObjectChanges> host_changes_;
  std::uint32_t slots_ = 0;  ///< one more than the highest slot that ever had an object
  std::vector<ObjectId> host_ids_;
  std::vector<LatticePoint> host_positions_;
  std::vector<std::uint32_t> host_tags_;
  std::uint32_t alive_count_ = 0;
  bool membership_changed_ = false;  ///< also true from apply_async to applied()
  bool membership_changed_before_ = false;
  std::uint32_t members_told_ = 0;  ///< ObjectChanges::members at the last applied()
};

}  // namespace starling::gpu
