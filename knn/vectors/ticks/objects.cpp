// SPDX-License-Identifier: Apache-2.0
// Adding births may throw, so births come first. Applying rows cannot throw. Masks are made word by
// word from the bits of the living objects: see objects.hpp.
#include "starling/knn/vectors/ticks/objects.hpp"

#include <algorithm>
#include <bit>

#include "starling/knn/base/headroom.hpp"
#include "starling/knn/base/prefetch.hpp"

namespace starling {
namespace {

constexpr std::size_t prefetch_rows = 16;

}  // namespace

void VectorObjects::begin_changes() {
  membership_changed_ = false;
  std::ranges::fill(touched_, 0);
}

void VectorObjects::add(std::span<const ObjectBirth> births) {
  std::size_t slots = objects_.size();
  for (const ObjectBirth& birth : births) slots = std::max<std::size_t>(slots, birth.slot + 1);
  resize_with_headroom(alive_, (slots + 63) / 64, std::uint64_t{0});
  resize_with_headroom(touched_, (slots + 63) / 64, std::uint64_t{0});
  resize_with_headroom(values_, slots, no_value);
  resize_with_headroom(objects_, slots);
  for (const ObjectBirth& birth : births) objects_[birth.slot].id = birth.id;
}

void VectorObjects::apply(std::span<const ObjectRow> rows,
                          std::span<const Targets> targets) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + prefetch_rows < rows.size()) {
      const Slot ahead = rows[i + prefetch_rows].slot;
      prefetch_to_write(&objects_[ahead]);
      prefetch_to_write(&values_[ahead]);
    }
    const ObjectRow& row = rows[i];
    const bool alive = starling::is_alive(row.generation);
    const bool was_alive = is_alive(row.slot);
    Object& object = objects_[row.slot];
    if (alive != was_alive || (alive && object.tags != row.tags)) membership_changed_ = true;
    if (alive != was_alive) {
      alive_[row.slot / 64] ^= std::uint64_t{1} << row.slot % 64;
      alive_count_ += alive ? 1 : std::uint64_t{0} - 1;
    }
    object.time_us = row.time_us;
    object.tags = row.tags;
    object.label = targets[i].label;
    values_[row.slot] = targets[i].value;
    touched_[row.slot / 64] |= std::uint64_t{1} << row.slot % 64;
  }
}

void VectorObjects::append_mask(const TagFilter& filter, std::int64_t time_us_min,
                                std::vector<std::uint64_t>& words) const {
  for (std::size_t word = 0; word < alive_.size(); ++word) {
    std::uint64_t mask = 0;
    for (std::uint64_t rest = alive_[word]; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(rest));
      const Slot slot = static_cast<Slot>(word * 64 + bit);
      if (passes(slot, filter, time_us_min)) mask |= std::uint64_t{1} << bit;
    }
    words.push_back(mask);
  }
}

std::uint64_t VectorObjects::bytes_used() const {
  return objects_.capacity() * sizeof(Object) + values_.capacity() * sizeof(double) +
         (alive_.capacity() + touched_.capacity()) * sizeof(std::uint64_t);
}

}  // namespace starling
