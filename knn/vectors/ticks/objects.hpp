// SPDX-License-Identifier: Apache-2.0
// The objects of a vector space at a tick, by slot: the data that filters, reports and predictions
// read. The VectorStore holds the components of the objects. VectorEngine owns a VectorObjects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

class VectorObjects {
 public:
  /// Begins a new set of changes: is_touched and membership_changed refer to rows that are applied
  /// after this call.
  void begin_changes();
  /// Makes room for new slots and stores their ids. May throw; apply does not.
  void add(std::span<const ObjectBirth> births);
  /// Each slot occurs at most once in `rows` and was added before. `targets` has one entry for each
  /// row.
  void apply(std::span<const ObjectRow> rows, std::span<const Targets> targets) noexcept;

  std::size_t slot_count() const { return objects_.size(); }
  std::uint64_t alive_count() const { return alive_count_; }
  /// Returns true if an object was added, was removed or changed its tags since begin_changes.
  bool membership_changed() const { return membership_changed_; }

  bool is_alive(Slot slot) const { return (alive_[slot / 64] >> slot % 64 & 1) != 0; }
  bool is_known_alive(Slot slot) const { return slot < objects_.size() && is_alive(slot); }
  bool is_touched(Slot slot) const { return (touched_[slot / 64] >> slot % 64 & 1) != 0; }
  ObjectId id(Slot slot) const { return objects_[slot].id; }
  std::uint32_t tags(Slot slot) const { return objects_[slot].tags; }
  std::int64_t time_us(Slot slot) const { return objects_[slot].time_us; }
  Label label(Slot slot) const { return objects_[slot].label; }
  double value(Slot slot) const { return values_[slot]; }

  /// Returns true if the object passes `filter` and its time is not before `time_us_min`. Call only
  /// for a living object.
  bool passes(Slot slot, const TagFilter& filter, std::int64_t time_us_min) const {
    return filter.passes(tags(slot)) && time_us(slot) >= time_us_min;
  }
  /// Appends a mask (see VectorMasks in knn/vectors/store.hpp) with one bit for each slot. The bit
  /// is 1 for living objects that pass.
  void append_mask(const TagFilter& filter, std::int64_t time_us_min,
                   std::vector<std::uint64_t>& words) const;
  std::size_t mask_words() const { return alive_.size(); }

  std::uint64_t bytes_used() const;

 private:
  struct alignas(32) Object {  // an Object is never in two cache lines
    ObjectId id{};
    std::int64_t time_us = 0;
    Label label = no_label;
    std::uint32_t tags = 0;
  };

  std::vector<Object> objects_;
  std::vector<double> values_;          ///< not in Object, which is half a cache line
  std::vector<std::uint64_t> alive_;    ///< one bit for each slot
  std::vector<std::uint64_t> touched_;  ///< one bit for each slot
  std::uint64_t alive_count_ = 0;
  bool membership_changed_ = false;
};

}  // namespace starling
