// The objects as of the last applied rows: their arrays on the device, and on the host what shapes
// every-object queries. GpuEngine's, on its own thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/memory.hpp"
#include "gpu/objects_launch.hpp"
#include "knn/engine.hpp"

namespace starling::gpu {

class DeviceObjects {
 public:
  explicit DeviceObjects(DeviceMemory& memory)
      : positions_(memory),
        ids_(memory),
        times_us_(memory),
        tags_(memory),
        bounds_(memory, 1),
        births_(memory),
        rows_(memory),
        changes_(memory, 1),
        host_changes_(1) {}

  /// Room for the births' slots and for the staged rows themselves. If it throws, every object is
  /// as before. The stream is waited for if the arrays grow.
  void reserve(const Staging& half, const Stream& stream);

  /// Copies and applies the rows, and waits until that is done.
  void apply(const Staging& half, const Stream& stream);

  ObjectsView view() {
    return {positions_.data(), ids_.data(), times_us_.data(), tags_.data(), bounds_.data(), slots_};
  }

  std::uint32_t slot_count() const { return static_cast<std::uint32_t>(host_ids_.size()); }
  std::uint32_t alive_count() const { return alive_count_; }
  ObjectId id(Slot slot) const { return host_ids_[slot]; }

  /// Whether an object came, left or changed its tags since the last call.
  bool take_membership_changed();

  /// Brings the device's positions and tags to the host, for what follows.
  void fetch(const Stream& stream);
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
  DeviceBuffer<ObjectBirth> births_;
  DeviceBuffer<ObjectRow> rows_;
  DeviceBuffer<ObjectChanges> changes_;
  PinnedBuffer<ObjectChanges> host_changes_;
  std::uint32_t slots_ = 0;  ///< that the arrays have been given room for
  std::vector<ObjectId> host_ids_;
  std::vector<LatticePoint> host_positions_;
  std::vector<std::uint32_t> host_tags_;
  std::uint32_t alive_count_ = 0;
  bool membership_changed_ = false;
};

}  // namespace starling::gpu
