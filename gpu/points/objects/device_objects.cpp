// SPDX-License-Identifier: Apache-2.0
// Grows the arrays, and enqueues the kernels of objects_launch.hpp. Later the host gets the change
// counts from the device. They say how many objects are alive, and whether objects came, left or
// changed their tags. See device_objects.hpp.
#include "starling/gpu/points/objects/device_objects.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "starling/knn/base/headroom.hpp"

namespace starling::gpu {

DeviceObjects::DeviceObjects(DeviceMemory& memory, const CudaStream& stream)
    : positions_(memory),
      ids_(memory),
      times_us_(memory),
      tags_(memory),
      bounds_(memory, 1),
      changes_(memory),
      host_changes_(1) {
  changes_.reserve_cleared(1, stream);
}

std::size_t DeviceObjects::slots_with(std::span<const ObjectBirth> births) const {
  std::size_t slots = slot_count();
  for (const ObjectBirth& birth : births) slots = std::max<std::size_t>(slots, birth.slot + 1);
  return slots;
}

bool DeviceObjects::has_room(std::span<const ObjectBirth> births) const {
  const std::size_t slots = slots_with(births);
  return slots <= std::min({positions_.room(), ids_.room(), times_us_.room(), tags_.room(),
                            host_ids_.capacity()});
}

void DeviceObjects::reserve(std::span<const ObjectBirth> births, const CudaStream& stream) {
  const std::size_t slots = slots_with(births);
  positions_.reserve(slots, slot_count(), stream);
  ids_.reserve(slots, slot_count(), stream);
  times_us_.reserve(slots, slot_count(), stream);
  tags_.reserve(slots, slot_count(), stream);
  reserve_with_headroom(host_ids_, slots);
}

void DeviceObjects::apply_async(const Staging& staged, const DeviceRows& rows,
                                const CudaStream& stream) {
  membership_changed_before_ = std::exchange(membership_changed_, true);
  slots_ = static_cast<std::uint32_t>(slots_with(staged.births));
  clear_objects_async(view(), slot_count(), slots_, stream);
  apply_births_async(rows.births(), static_cast<std::uint32_t>(staged.births.size()), view(),
                     stream);
  // A slot occurs at most once in a part, so the rows of a part are applied in any order.
  std::size_t begin = 0;
  const auto apply_part = [&](std::size_t end) {
    apply_rows_async(rows.objects() + begin, static_cast<std::uint32_t>(end - begin), view(),
                     changes_.data(), stream);
    begin = end;
  };
  for (const std::size_t end : staged.part_ends) apply_part(end);
  apply_part(staged.objects.size());
  host_ids_.resize(slots_);
  for (const ObjectBirth& birth : staged.births) host_ids_[birth.slot] = birth.id;
}

void DeviceObjects::applied() {
  alive_count_ = static_cast<std::uint32_t>(host_changes_[0].alive);
  const std::uint32_t members = host_changes_[0].members;
  membership_changed_ = membership_changed_before_ || members != members_told_;
  members_told_ = members;
}

bool DeviceObjects::take_membership_changed() {
  return std::exchange(membership_changed_, false);
}

void DeviceObjects::fetch(const CudaStream& stream) {
  host_positions_.resize(slot_count());
  host_tags_.resize(slot_count());
  const DrainAtEnd drain(stream);
  copy_to_host_async(positions_.data(), std::span(host_positions_), stream);
  copy_to_host_async(tags_.data(), std::span(host_tags_), stream);
  stream.wait();
}

std::uint64_t DeviceObjects::bytes_used() const {
  return positions_.room() * sizeof(LatticePoint) + ids_.room() * sizeof(ObjectId) +
         times_us_.room() * sizeof(std::int64_t) + tags_.room() * sizeof(std::uint32_t);
}

}  // namespace starling::gpu
