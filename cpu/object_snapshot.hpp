// The objects as of a tick, by slot: what the index is built from and filters read.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cpu/thread_pool.hpp"
#include "knn/engine.hpp"

namespace starling::cpu {

class ObjectSnapshot {
 public:
  /// `dimensions` is 2 (z is always 0) or 3.
  explicit ObjectSnapshot(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  /// Makes room for the born and notes their ids.
  void add(std::span<const ObjectBirth> births);
  /// Each slot at most once, and born before.
  void apply(std::span<const ObjectRow> rows, ThreadPool& pool);

  std::size_t slot_count() const { return ids_.size(); }
  std::uint64_t alive_count() const { return alive_count_; }
  bool is_alive(Slot slot) const { return times_us_[slot] != dead; }
  bool is_known_alive(Slot slot) const { return slot < ids_.size() && is_alive(slot); }
  ObjectId id(Slot slot) const { return ids_[slot]; }
  std::uint32_t tags(Slot slot) const { return tags_[slot]; }
  std::int64_t time_us(Slot slot) const { return times_us_[slot]; }
  LatticePoint position(Slot slot) const {
    const std::int32_t* at = &coordinates_[slot * dimensions_];
    return {at[0], at[1], dimensions_ == 3 ? at[2] : 0};
  }
  const ObjectId* ids() const { return ids_.data(); }

  std::uint64_t bytes_used() const;

 private:
  static constexpr std::int64_t dead = std::numeric_limits<std::int64_t>::min();

  void grow(std::size_t slots);

  std::size_t dimensions_;
  std::vector<std::int32_t> coordinates_;  ///< [slot][dimension]: one cache line an object
  std::vector<std::uint32_t> tags_;
  std::vector<std::int64_t> times_us_;  ///< `dead` where there is no object
  std::vector<ObjectId> ids_;
  std::uint64_t alive_count_ = 0;
};

}  // namespace starling::cpu
