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
  /// Makes room for the born and notes their ids.
  void add(std::span<const ObjectBirth> births);
  /// Each slot at most once, and born before.
  void apply(std::span<const ObjectRow> rows, ThreadPool& pool);

  /// From here on, membership_changed tells whether an object came, went or changed its tags.
  void begin_changes() { membership_changed_ = false; }
  bool membership_changed() const { return membership_changed_; }

  std::size_t slot_count() const { return objects_.size(); }
  std::uint64_t alive_count() const { return alive_count_; }
  bool is_alive(Slot slot) const { return objects_[slot].time_us != dead; }
  bool is_known_alive(Slot slot) const { return slot < objects_.size() && is_alive(slot); }
  ObjectId id(Slot slot) const { return objects_[slot].id; }
  std::uint32_t tags(Slot slot) const { return objects_[slot].tags; }
  std::int64_t time_us(Slot slot) const { return objects_[slot].time_us; }
  const LatticePoint& position(Slot slot) const { return objects_[slot].position; }
  void prefetch(Slot slot) const { __builtin_prefetch(&objects_[slot]); }

  std::uint64_t bytes_used() const { return objects_.capacity() * sizeof(Object); }

 private:
  static constexpr std::int64_t dead = std::numeric_limits<std::int64_t>::min();

  /// Half a cache line, never across two: whoever comes by slot comes in no order.
  struct alignas(32) Object {
    ObjectId id{};
    std::int64_t time_us = dead;
    LatticePoint position;
    std::uint32_t tags = 0;
  };

  std::vector<Object> objects_;
  std::uint64_t alive_count_ = 0;
  bool membership_changed_ = false;
};

}  // namespace starling::cpu
