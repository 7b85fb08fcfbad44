// The objects as of a tick, by slot: what the index is built from and filters read.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "starling/cpu/points/index/cell_grid.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/words/filter.hpp"

namespace starling::cpu {

class ObjectSnapshot {
 public:
  /// Makes room for the born and notes their ids.
  void add(std::span<const ObjectBirth> births);
  /// Each slot at most once, and born before.
  void apply(std::span<const ObjectRow> rows, ThreadPool& pool);

  /// From here on, membership_changed tells whether an object came, went or changed its tags.
  void begin_changes() { membership_changed_ = false; }
  bool membership_changed() const { return membership_changed_; }

  /// Of all slots; x is `nowhere`, which no lattice point is, of the dead.
  std::span<const LatticePoint> positions() const { return positions_; }
  static constexpr std::int32_t nowhere = std::numeric_limits<std::int32_t>::min();

  std::size_t slot_count() const { return ids_.size(); }
  std::uint64_t alive_count() const { return alive_count_; }
  bool is_alive(Slot slot) const { return positions_[slot].x != nowhere; }
  bool is_known_alive(Slot slot) const { return slot < ids_.size() && is_alive(slot); }
  ObjectId id(Slot slot) const { return ids_[slot]; }
  std::uint32_t tags(Slot slot) const { return tags_[slot]; }
  std::int64_t time_us(Slot slot) const { return times_us_[slot]; }
  const LatticePoint& position(Slot slot) const { return positions_[slot]; }
  void prefetch_id(Slot slot) const { prefetch(&ids_[slot]); }
  void prefetch_position(Slot slot) const { prefetch(&positions_[slot]); }

  /// Holds all live objects, and may be larger: it grows as they move and is drawn anew now and
  /// then.
  const Box& box() const { return box_; }

  /// Becomes a copy that is only good for building an index of: positions alone, in which whoever
  /// does not pass is dead.
  void take_passing(const ObjectSnapshot& all, const TagFilter& tags, ThreadPool& pool);

  std::uint64_t bytes_used() const;

 private:
  void apply_range(std::span<const ObjectRow> rows);
  void draw_box();

  // Each in an array of its own: the passes of a build read positions alone.
  std::vector<LatticePoint> positions_;
  std::vector<ObjectId> ids_;
  std::vector<std::int64_t> times_us_;
  std::vector<std::uint32_t> tags_;
  Box box_;
  int box_age_ = 0;
  std::uint64_t alive_count_ = 0;
  bool membership_changed_ = false;
  std::mutex mutex_;  ///< guards the box and the two above while rows are applied
};

}  // namespace starling::cpu
