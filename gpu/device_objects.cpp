#include "gpu/device_objects.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "knn/headroom.hpp"

namespace starling::gpu {

void DeviceObjects::reserve(const Staging& half, const Stream& stream) {
  std::size_t slots = host_ids_.size();
  for (const ObjectBirth& birth : half.births) slots = std::max<std::size_t>(slots, birth.slot + 1);
  positions_.reserve(slots, host_ids_.size(), stream);
  ids_.reserve(slots, host_ids_.size(), stream);
  times_us_.reserve(slots, host_ids_.size(), stream);
  tags_.reserve(slots, host_ids_.size(), stream);
  births_.reserve(half.births.size());
  rows_.reserve(half.objects.size());
  reserve_with_headroom(host_ids_, slots);
  slots_ = static_cast<std::uint32_t>(slots);
}

void DeviceObjects::apply(const Staging& half, const Stream& stream) {
  copy_to_device_async(std::span<const ObjectBirth>(half.births), births_, stream);
  copy_to_device_async(std::span<const ObjectRow>(half.objects), rows_, stream);
  clear_objects_async(view(), slot_count(), slots_, stream);
  apply_births_async(births_.data(), static_cast<std::uint32_t>(half.births.size()), view(),
                     stream);
  check(cudaMemsetAsync(changes_.data(), 0, sizeof(ObjectChanges), stream.get()));
  apply_rows_async(rows_.data(), static_cast<std::uint32_t>(half.objects.size()), view(),
                   changes_.data(), stream);
  copy_to_host_async(changes_.data(), std::span(host_changes_.data(), 1), stream);
  host_ids_.resize(slots_);
  for (const ObjectBirth& birth : half.births) host_ids_[birth.slot] = birth.id;
  stream.wait();
  alive_count_ += static_cast<std::uint32_t>(host_changes_[0].alive);
  membership_changed_ = membership_changed_ || host_changes_[0].members != 0;
}

bool DeviceObjects::take_membership_changed() {
  return std::exchange(membership_changed_, false);
}

void DeviceObjects::fetch(const Stream& stream) {
  host_positions_.resize(slot_count());
  host_tags_.resize(slot_count());
  copy_to_host_async(positions_.data(), std::span(host_positions_), stream);
  copy_to_host_async(tags_.data(), std::span(host_tags_), stream);
  stream.wait();
}

std::uint64_t DeviceObjects::bytes_used() const {
  return positions_.room() * sizeof(LatticePoint) + ids_.room() * sizeof(ObjectId) +
         times_us_.room() * sizeof(std::int64_t) + tags_.room() * sizeof(std::uint32_t);
}

}  // namespace starling::gpu
