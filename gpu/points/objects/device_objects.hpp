// The objects as of the last applied rows: their arrays on the device, and on the host what shapes
// every-object queries. GpuEngine's, on its own thread.
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

  /// How many slots there are when these have been born.
  std::size_t slots_with(std::span<const ObjectBirth> births) const;
  /// Whether there is room for them.
  bool has_room(std::span<const ObjectBirth> births) const;
  /// Makes that room, and waits for the CUDA stream; the arrays move. If it throws, every object is
  /// as before.
  void reserve(std::span<const ObjectBirth> births, const CudaStream& stream);

  /// Applies rows, for whose births there is room and which the CUDA stream finds on the device. If
  /// it throws they may be applied or not: applied again, they leave what they would have left.
  void apply_async(const Staging& staged, const DeviceRows& rows, const CudaStream& stream);
  /// What the rows changed is to be told to the host, by whatever kernel comes next.
  struct Telling {
    const ObjectChanges* changes;
    ObjectChanges* host;
  };
  Telling to_tell() { return {changes_.data(), host_changes_.data()}; }
  /// Call once the CUDA stream has finished copying the change counts to the host.
  void applied();

  ObjectsView view() {
    return {positions_.data(), ids_.data(), times_us_.data(), tags_.data(), bounds_.data(), slots_};
  }

  std::uint32_t slot_count() const { return static_cast<std::uint32_t>(host_ids_.size()); }
  std::uint32_t alive_count() const { return alive_count_; }
  ObjectId id(Slot slot) const { return host_ids_[slot]; }

  /// Whether an object came, left or changed its tags since the last call.
  bool take_membership_changed();

  /// Brings the device's positions and tags to the host, for what follows.
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
  DeviceBuffer<ObjectChanges> changes_;  ///< of all time
  PinnedBuffer<ObjectChanges> host_changes_;
  std::uint32_t slots_ = 0;  ///< up to the highest that was ever born
  std::vector<ObjectId> host_ids_;
  std::vector<LatticePoint> host_positions_;
  std::vector<std::uint32_t> host_tags_;
  std::uint32_t alive_count_ = 0;
  bool membership_changed_ = false;  ///< or perhaps: rows are being applied
  bool membership_changed_before_ = false;
  std::uint32_t members_told_ = 0;
};

}  // namespace starling::gpu
