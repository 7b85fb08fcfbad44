// From object id to slot. Open addressing over 4-byte slots: 8 to 16 bytes an object beside the
// records, and lookups of a batch can be prefetched. ObjectTable is its only user.
#pragma once

#include <cstdint>
#include <vector>

#include "knn/types.hpp"

namespace starling {

/// `Records` is indexed by slot and yields something with a member `id`.
template <class Records>
class ObjectRegistry {
 public:
  explicit ObjectRegistry(std::uint64_t seed) : seed_(seed), cells_(cells_min, no_slot) {}

  /// The slot of `id`, or no_slot.
  Slot find(ObjectId id, const Records& records) const {
    for (std::size_t cell = home(id);; cell = next(cell)) {
      const Slot slot = cells_[cell];
      if (slot == no_slot || records[slot].id == id) return slot;
    }
  }

  /// `id` must be absent and records[slot].id already be `id`.
  void insert(ObjectId id, Slot slot, const Records& records) {
    if ((count_ + 1) * 2 > cells_.size()) grow(records);
    place(id, slot);
    ++count_;
  }

  /// `id` must be present. Closes the gap by shifting back, so that no mark of it is left.
  void erase(ObjectId id, const Records& records) {
    std::size_t gap = home(id);
    while (records[cells_[gap]].id != id) gap = next(gap);
    for (std::size_t cell = next(gap); cells_[cell] != no_slot; cell = next(cell)) {
      const std::size_t wanted = home(records[cells_[cell]].id);
      if (((cell - wanted) & mask()) < ((cell - gap) & mask())) continue;
      cells_[gap] = cells_[cell];
      gap = cell;
    }
    cells_[gap] = no_slot;
    --count_;
  }

  /// First of two steps ahead of a find: the cell. The second is the record of likely_slot.
  void prefetch(ObjectId id) const { __builtin_prefetch(&cells_[home(id)]); }
  Slot likely_slot(ObjectId id) const { return cells_[home(id)]; }

  std::uint64_t bytes_used() const { return cells_.capacity() * sizeof(Slot); }

 private:
  static constexpr std::size_t cells_min = 64;

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t next(std::size_t cell) const { return (cell + 1) & mask(); }

  // The finalizer of MurmurHash3 (Appleby); a seed that nobody knows keeps crafted ids from sharing
  // a cell.
  std::size_t home(ObjectId id) const {
    std::uint64_t hash = to_number(id) ^ seed_;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return static_cast<std::size_t>(hash ^ (hash >> 33)) & mask();
  }

  void place(ObjectId id, Slot slot) {
    std::size_t cell = home(id);
    while (cells_[cell] != no_slot) cell = next(cell);
    cells_[cell] = slot;
  }

  void grow(const Records& records) {
    std::vector<Slot> old(cells_.size() * 2, no_slot);
    old.swap(cells_);
    for (const Slot slot : old)
      if (slot != no_slot) place(records[slot].id, slot);
  }

  std::uint64_t seed_;
  std::size_t count_ = 0;
  std::vector<Slot> cells_;
};

}  // namespace starling
