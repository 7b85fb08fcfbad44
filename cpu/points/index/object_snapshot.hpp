// SPDX-License-Identifier: Apache-2.0
// The objects at a tick, by slot. Indexes are built from an ObjectSnapshot, and filters read it.
// CpuEngine owns an ObjectSnapshot.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/cpu/points/index/point_set.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/filter.hpp"

namespace starling::cpu {

class ObjectSnapshot {
 public:
  ObjectSnapshot() = default;
  /// Call it while no rows are applied to `other`.
  ObjectSnapshot(const ObjectSnapshot& other);
  ObjectSnapshot& operator=(const ObjectSnapshot&) = delete;

  /// Makes room for new slots and stores their ids.
  void add(std::span<const ObjectBirth> births);
  /// Applies rows. Each slot occurs at most once and was added before.
  void apply(std::span<const ObjectRow> rows, ThreadPool& pool);

  /// Forgets earlier changes. membership_changed() returns true if an object was added, was removed
  /// or changed its tags since the last call of begin_changes().
  void begin_changes() { membership_changed_ = false; }
  bool membership_changed() const { return membership_changed_; }

  /// The positions, event times and tags of all slots. A dead slot has x = `nowhere`.
  std::span<const LatticePoint> positions() const { return positions_; }
  std::span<const std::int64_t> times_us() const { return times_us_; }
  std::span<const std::uint32_t> tags() const { return tags_; }

  std::size_t slot_count() const { return ids_.size(); }
  std::uint64_t alive_count() const { return alive_count_; }
  bool is_alive(Slot slot) const { return positions_[slot].x != nowhere; }
  bool is_known_alive(Slot slot) const { return slot < ids_.size() && is_alive(slot); }
  ObjectId id(Slot slot) const { return ids_[slot]; }
  std::uint32_t tags(Slot slot) const { return tags_[slot]; }
  std::int64_t time_us(Slot slot) const { return times_us_[slot]; }
  const LatticePoint& position(Slot slot) const { return positions_[slot]; }
  void prefetch_id(Slot slot) const { prefetch(&ids_[slot]); }
  void prefetch_tags(Slot slot) const { prefetch(&tags_[slot]); }
  void prefetch_position(Slot slot) const { prefetch(&positions_[slot]); }

  /// Returns a box that contains all live objects. It may be too large: it grows as objects move
  /// and is computed again every few ticks.
  const Box& box() const { return box_; }

  /// Returns the live objects, to build an index from.
  PointSet all_points() const {
    return {.positions = positions_, .slots = {}, .count = alive_count_, .box = box_};
  }

  std::uint64_t bytes_used() const;

 private:
  void apply_range(std::span<const ObjectRow> rows);
  void draw_box();

  // The arrays are separate, because the build of an index reads only the positions.
  std::vector<LatticePoint> positions_;
  std::vector<ObjectId> ids_;
  std::vector<std::int64_t> times_us_;
  std::vector<std::uint32_t> tags_;
  Box box_;
  int box_age_ = 0;
  std::uint64_t alive_count_ = 0;
  bool membership_changed_ = false;
  std::mutex mutex_;  ///< guards box_, alive_count_ and membership_changed_ while rows are applied
};

}  // namespace starling::cpu
