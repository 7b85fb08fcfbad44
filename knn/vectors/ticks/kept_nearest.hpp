// SPDX-License-Identifier: Apache-2.0
// The nearest objects of one search, kept from tick to tick: more than k of them, and the distance
// up to which they are complete. VectorSearches owns a KeptNearest for each list.
// docs/decisions/0008-streaming-vectors.md explains the rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The entries are exactly the objects that pass the filter and come before the *horizon* in the
/// total order. The objects beyond the horizon are unknown. The *limit* is the distance that the
/// filter allows, or infinity. If the horizon has reached the limit, no further object can be in
/// the list.
class KeptNearest {
 public:
  struct Entry {
    Neighbor neighbor;
    Slot slot = no_slot;
  };

  /// Returns the number of entries that a scan asks for, which is also the most that a list keeps.
  /// It is larger than k, so that some entries may leave before the next scan is needed.
  static constexpr std::uint32_t room_of(std::uint32_t k) {
    constexpr std::uint32_t spare_min = 16;
    return k + (k / 2 > spare_min ? k / 2 : spare_min);
  }

  /// Sets the length and the filter of the list. Nothing is known afterwards.
  void ask(std::uint32_t k, const Filter& filter);
  void forget() { know_nobody_before({}); }
  bool is_unknown() const { return horizon_ == Neighbor{}; }
  /// Makes the list known and empty. Call if the anchor is missing: the list then has no
  /// neighbours.
  void know_nobody() { know_nobody_before(limit_); }

  /// Only objects before the horizon can become entries.
  const Neighbor& horizon() const { return horizon_; }

  /// Removes the entries for which leaves(slot) returns true: their objects were touched or no
  /// longer pass the filter.
  template <class Leaves>
  void drop_if(const Leaves& leaves) {
    std::erase_if(entries_, [&](const Entry& entry) { return leaves(entry.slot); });
  }
  /// Adds an object that passes the filter and is not yet an entry. Call add for the objects in any
  /// order, then call settle.
  void add(const Entry& entry) {
    if (entry.neighbor < horizon_) entries_.push_back(entry);
  }
  /// Orders the entries and keeps the first room_of(k). If entries are removed, the nearest of them
  /// becomes the horizon.
  void settle();

  /// Returns true if the list is known. Otherwise a scan is needed.
  bool is_certain() const { return entries_.size() >= k_ || horizon_ == limit_; }

  /// Replaces the entries by the result of a scan for room_of(k) rows: the rows with the smallest
  /// (score, slot). `is_all` says that no other object passes the filter. If other objects pass,
  /// some may have the score of the last entry and smaller ids, so the horizon is set before all
  /// objects with this score.
  void take_scan(std::span<const Entry> entries, bool is_all);
  /// Replaces the entries by all objects whose key is at most `key`, in any order.
  void take_within(std::span<const Entry> entries, RankKey key);

  /// Returns the list. Call only if is_certain().
  std::span<const Entry> list() const {
    return std::span(entries_).first(entries_.size() < k_ ? entries_.size() : k_);
  }

 private:
  static constexpr Neighbor infinity{RankKey{std::numeric_limits<std::uint64_t>::max()},
                                     ObjectId{std::numeric_limits<std::uint64_t>::max()}};

  void know_nobody_before(const Neighbor& horizon) {
    entries_.clear();
    horizon_ = horizon;
  }

  std::uint32_t k_ = 1;
  Neighbor limit_ = infinity;
  Neighbor horizon_{};
  std::vector<Entry> entries_;
};

}  // namespace starling
