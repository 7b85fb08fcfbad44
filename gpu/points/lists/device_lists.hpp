// SPDX-License-Identifier: Apache-2.0
// The neighbour lists of one tick on the device, and the plan that says where each list is.
// GpuEngine owns two DeviceLists: one for the last tick, and one for the tick under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_plan.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"

namespace starling::gpu {

class DeviceLists {
 public:
  explicit DeviceLists(DeviceMemory& memory)
      : plan_(std::make_shared<DevicePlan>(memory)),
        counts_(memory),
        neighbors_(memory),
        slots_(memory),
        notes_(memory) {}

  /// Makes room for all lists of the plan. Loses the old lists, even if lay_out throws.
  void lay_out(std::shared_ptr<DevicePlan> plan, const CudaStream& stream) {
    counts_.reserve(plan->list_count());
    neighbors_.reserve_cleared(plan->room(), stream);
    slots_.reserve_cleared(plan->room(), stream);
    notes_.reserve(std::size_t{plan->list_count()} + 1);
    plan_ = std::move(plan);
  }

  const std::shared_ptr<DevicePlan>& plan() const { return plan_; }
  ListsView view() {
    return {plan_->device_rooms(), counts_.data(), neighbors_.data(), slots_.data()};
  }

  DeviceBuffer<std::uint32_t>& counts() { return counts_; }
  DeviceBuffer<Neighbor>& neighbors() { return neighbors_; }
  DeviceBuffer<Slot>& slots() { return slots_; }
  /// Memory for SearchBatch::leaves or SearchBatch::postponed; each index uses only one of the two.
  /// Has one entry more than there are lists, because SearchBatch::postponed begins with a count.
  DeviceBuffer<std::uint32_t>& notes() { return notes_; }

 private:
  std::shared_ptr<DevicePlan> plan_;
  DeviceBuffer<std::uint32_t> counts_;
  DeviceBuffer<Neighbor> neighbors_;
  DeviceBuffer<Slot> slots_;
  DeviceBuffer<std::uint32_t> notes_;
};

}  // namespace starling::gpu
