// The nearest objects of one search, kept from tick to tick: more than are asked for, and how far
// out they are complete. VectorSearches owns one a list; docs/decisions/0008 has the rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// Every object that passes the filter and comes before the *horizon* in the total order is among
/// the entries, and nobody else. What lies beyond is unknown, unless the horizon has reached the
/// *limit*: the distance that the filter allows, or infinity.
class KeptNearest {
 public:
  struct Entry {
    Neighbor neighbor;
    Slot slot = no_slot;
  };

  /// So many are kept at most, and asked of a scan: enough for a few to leave before the next.
  static constexpr std::uint32_t room_of(std::uint32_t k) {
    constexpr std::uint32_t spare_min = 16;
    return k + (k / 2 > spare_min ? k / 2 : spare_min);
  }

  /// For lists of another length, or with another filter: nothing is known.
  void ask(std::uint32_t k, const Filter& filter);
  void forget() { know_nobody_before({}); }
  bool is_unknown() const { return horizon_ == Neighbor{}; }
  /// There is nobody: an anchor that is missing has no neighbours.
  void know_nobody() { know_nobody_before(limit_); }

  /// An object counts only if it comes before.
  const Neighbor& horizon() const { return horizon_; }

  /// Takes out whoever was touched or passes the filter no more.
  template <class Leaves>
  void drop_if(const Leaves& leaves) {
    std::erase_if(entries_, [&](const Entry& entry) { return leaves(entry.slot); });
  }
  /// Somebody who passes the filter and is not yet among the entries; in any order, then settle.
  void add(const Entry& entry) {
    if (entry.neighbor < horizon_) entries_.push_back(entry);
  }
  /// Orders the entries and keeps as many as there is room for: who goes is the new horizon.
  void settle();

  /// Whether the list is known. If it is not, a scan is needed.
  bool is_certain() const { return entries_.size() >= k_ || horizon_ == limit_; }

  /// Takes over the answer to a scan for room_of(k): entries with the least (score, slot).
  /// `is_all`: nobody else passes the filter. Of others as far away as the last some may have
  /// smaller ids, so the horizon is before them.
  void take_scan(std::span<const Entry> entries, bool is_all);
  /// Takes over everybody within a distance, inclusive, in any order.
  void take_within(std::span<const Entry> entries, RankKey key);

  /// The list: once it is certain.
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
