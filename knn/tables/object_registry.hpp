// SPDX-License-Identifier: Apache-2.0
// A hash table from object ids to slots, with open addressing over cells of 4 bytes. The registry
// needs 5 to 8 bytes for each object in addition to the records. Each ObjectPartition has one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/seeded_hash.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// `Records` is indexed by slot and returns an object with a member `id`.
///
/// The lower bits of a cell hold a slot. The upper bits hold the *mark*: bits of the hash of the
/// slot's id. If the mark of a cell differs from that of the wanted id, a search skips the cell
/// without reading the record.
template <class Records>
class ObjectRegistry {
 public:
  explicit ObjectRegistry(std::uint64_t seed) : id_hash_(seed), cells_(cells_min, empty) {}

  std::uint64_t hash(ObjectId id) const { return id_hash_(to_number(id)); }

  /// Prefetches the cell at which the search for a hash starts. To find many ids at once, compute
  /// all hashes, call prefetch for each of them, then prefetch the records of all likely slots.
  /// Then call find only for an id that is not the id in the record of its likely slot.
  void prefetch(std::uint64_t hash) const { starling::prefetch(&cells_[home(hash)]); }
  /// Returns the slot of the first cell with the mark of `hash`, or no_slot. find returns the same
  /// slot unless another id has the same mark.
  Slot likely_slot(std::uint64_t hash) const {
    for (std::size_t cell = home(hash);; cell = next(cell)) {
      if (cells_[cell] == empty) return no_slot;
      if (has_mark_of(cells_[cell], hash)) return slot_of(cells_[cell]);
    }
  }

  /// Returns the slot of `id`, or no_slot.
  Slot find(ObjectId id, const Records& records) const {
    const std::uint64_t hash = this->hash(id);
    for (std::size_t cell = home(hash);; cell = next(cell)) {
      if (cells_[cell] == empty) return no_slot;
      const Slot slot = slot_of(cells_[cell]);
      if (has_mark_of(cells_[cell], hash) && records[slot].id == id) return slot;
    }
  }

  /// Makes room for `count` ids in slots up to `slot_max`, so that no insert rebuilds the cells.
  void reserve(std::size_t count, Slot slot_max, const Records& records) {
    std::size_t cells = cells_.size();
    while (count * 5 > cells * 4) cells = next_size(cells);
    const Slot mask = std::max(slot_mask_, mask_for(slot_max));
    if (cells > cells_.size() || mask > slot_mask_) rebuild(cells, mask, records);
  }

  /// `id` must be absent, and records[slot].id must already be `id`.
  void insert(ObjectId id, Slot slot, const Records& records) {
    if ((count_ + 1) * 5 > cells_.size() * 4)
      rebuild(next_size(cells_.size()), slot_mask_, records);
    if (slot >= slot_mask_) rebuild(cells_.size(), mask_for(slot), records);
    ++count_;
    place(hash(id), slot);
  }

  /// `id` must be present. Shifts later cells back into the gap, so no tombstone remains.
  void erase(ObjectId id, const Records& records) {
    std::size_t gap = home(hash(id));
    while (records[slot_of(cells_[gap])].id != id) gap = next(gap);
    for (std::size_t cell = next(gap); cells_[cell] != empty; cell = next(cell)) {
      const std::size_t wanted = home(hash(records[slot_of(cells_[cell])].id));
      if (distance(wanted, cell) < distance(gap, cell)) continue;
      cells_[gap] = cells_[cell];
      gap = cell;
    }
    cells_[gap] = empty;
    --count_;
  }

  std::uint64_t bytes_used() const { return cells_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::size_t cells_min = 64;
  static constexpr std::uint32_t empty = ~std::uint32_t{0};  // no slot has all bits set

  std::size_t home(std::uint64_t hash) const { return (hash & 0xffffffff) * cells_.size() >> 32; }
  std::size_t next(std::size_t cell) const { return cell + 1 == cells_.size() ? 0 : cell + 1; }
  std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + cells_.size() - from;
  }

  /// The number of cells is 2^b or 1.5 * 2^b.
  static std::size_t next_size(std::size_t cells) {
    return std::has_single_bit(cells) ? cells / 2 * 3 : cells / 3 * 4;
  }
  static Slot mask_for(Slot slot) {
    return static_cast<Slot>(std::bit_ceil(std::uint64_t{slot} + 2) - 1);
  }
  Slot slot_of(std::uint32_t cell) const { return cell & slot_mask_; }
  std::uint32_t mark_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32) & ~slot_mask_;
  }
  bool has_mark_of(std::uint32_t cell, std::uint64_t hash) const {
    return ((cell ^ static_cast<std::uint32_t>(hash >> 32)) & ~slot_mask_) == 0;
  }

  void place(std::uint64_t hash, Slot slot) {
    std::size_t cell = home(hash);
    while (cells_[cell] != empty) cell = next(cell);
    cells_[cell] = mark_of(hash) | slot;
  }

  void rebuild(std::size_t cells, Slot slot_mask, const Records& records) {
    constexpr std::size_t prefetch_cells = 16;
    const Slot old_mask = slot_mask_;
    std::vector<std::uint32_t> old(cells, empty);
    old.swap(cells_);
    slot_mask_ = slot_mask;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (i + prefetch_cells < old.size() && old[i + prefetch_cells] != empty)
        starling::prefetch(&records[old[i + prefetch_cells] & old_mask]);
      if (old[i] != empty) place(hash(records[old[i] & old_mask].id), old[i] & old_mask);
    }
  }

  SeededHash id_hash_;
  std::size_t count_ = 0;  ///< number of ids
  std::vector<std::uint32_t> cells_;
  Slot slot_mask_ = cells_min - 1;  ///< the bits of a cell that hold the slot; above every slot
};

}  // namespace starling
