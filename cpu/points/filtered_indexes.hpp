// SPDX-License-Identifier: Apache-2.0
// Indexes of only those objects that pass a filter. Example: riders look for free drivers. If few
// drivers are free, a search among all objects would meet and reject many objects. In each tick, a
// filter gets an index only if the index saves more time than it costs. CpuEngine owns a
// FilteredIndexes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/cpu/points/list_plan.hpp"
#include "starling/cpu/points/passing_scan.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/lattice.hpp"

namespace starling::cpu {

class FilteredIndexes {
 public:
  explicit FilteredIndexes(Space space) : space_(space) {}

  /// Chooses the filters that get an index, by the share of objects that pass each filter. The
  /// share is known from the last tick, or is estimated from a sample of the objects. A query with
  /// a filter that was not chosen searches among all objects.
  void choose(std::span<const PlannedFilter> filters, std::int64_t tau_us,
              const ObjectSnapshot& objects);

  /// Returns, for each filter, 1 if it was chosen and 0 if not.
  const std::vector<std::uint8_t>& chosen() const { return is_chosen_; }

  /// Builds the indexes of the chosen filters and discards those of the last tick. `index` has all
  /// objects. If some filter rejects objects and was not chosen, build also attaches to `index` the
  /// data that PassingTests read.
  void build(const ObjectSnapshot& objects, SpatialIndex& index, SpatialIndex::Scratch& scratch,
             ThreadPool& pool);

  /// Returns the index of exactly those objects that pass this filter, or nullptr if the filter was
  /// not chosen.
  const SpatialIndex* index_of(std::uint32_t filter) const {
    return is_chosen_[filter] != 0 ? &sets_[set_of_[filter]].index : nullptr;
  }

  /// Call if a search among all objects with this filter gave up. The next tick then assumes that
  /// hardly any object passes the filter. Any thread may call it.
  void note_gave_up(std::uint32_t filter) {
    std::atomic_ref(known_shares_[filter]).store(0, std::memory_order_relaxed);
  }

  /// Returns the PassingTest of a filter that was not chosen.
  const PassingTest& test_of(std::uint32_t filter) const { return tests_[filter]; }
  /// Returns an estimate of the share of objects that pass a filter.
  float passing_share(std::uint32_t filter) const { return shares_[filter]; }

  std::uint64_t bytes_used() const;

 private:
  /// The objects that pass one filter, and their index.
  struct PassingSet {
    explicit PassingSet(Space space) : index(space) {}
    std::vector<LatticePoint> positions;
    std::vector<Slot> slots;
    Box box;
    SpatialIndex index;
  };
  /// The data with which one thread builds the index of a small set.
  struct Builder {
    ThreadPool alone{1};
    SpatialIndex::Scratch scratch;
  };

  void forget_unless(std::span<const PlannedFilter> filters);
  void take(std::size_t set, const ObjectSnapshot& objects);

  Space space_;
  bool filters_all_ = false;  ///< there is a filter that rejects objects and was not chosen
  std::vector<std::uint8_t> is_chosen_;  ///< [filter], as are the vectors down to set_of_
  std::vector<float> shares_;
  std::vector<PassingTest> tests_;
  std::vector<PlannedFilter> known_filters_;  ///< the last tick's filters
  std::vector<float> known_shares_;           ///< the last tick's shares, or unknown_share
  std::vector<std::uint32_t> set_of_;         ///< the index into sets_; only for chosen filters
  std::vector<std::int64_t> oldest_us_;       ///< the oldest times of all filters: see PassingTest
  std::vector<PassingTest> chosen_tests_;     ///< [set]
  PassingScan scan_;
  std::vector<PassingSet> sets_;
  std::vector<std::unique_ptr<Builder>> builders_;  ///< [thread]
};

}  // namespace starling::cpu
