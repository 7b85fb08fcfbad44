// SPDX-License-Identifier: Apache-2.0
// Indexes of only those objects that pass a filter. Example: riders look for free drivers. If few
// drivers are free, each search among all objects would reject many others. CpuEngine chooses, in
// each tick, the filters for which such an index saves more time than it costs.
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

  /// Chooses the filters that get an index, from a sample of the objects and from what the last
  /// tick showed of the same filters. The searches of the others are among all objects.
  void choose(std::span<const PlannedFilter> filters, std::int64_t tau_us,
              const ObjectSnapshot& objects);

  /// Returns, for each filter, 1 if it was chosen and 0 if not.
  const std::vector<std::uint8_t>& chosen() const { return is_chosen_; }

  /// Builds the index of each chosen filter, which replaces those of the earlier tick, and attaches
  /// to the index of all objects what the tests of other filters read.
  void build(const ObjectSnapshot& objects, SpatialIndex& index, SpatialIndex::Scratch& scratch,
             ThreadPool& pool);

  /// Returns the index of exactly the objects that pass this filter; nullptr if it has none.
  const SpatialIndex* index_of(std::uint32_t filter) const {
    return is_chosen_[filter] != 0 ? &sets_[set_of_[filter]].index : nullptr;
  }

  /// Tells that a search among all objects gave up. Any thread may call it.
  void note_gave_up(std::uint32_t filter) {
    std::atomic_ref(known_shares_[filter]).store(0, std::memory_order_relaxed);
  }

  /// Returns the test of a filter that was not chosen.
  const PassingTest& test_of(std::uint32_t filter) const { return tests_[filter]; }
  /// Returns about which share of the objects passes a filter.
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
  /// What one thread needs to build small indexes alone.
  struct Builder {
    ThreadPool alone{1};
    SpatialIndex::Scratch scratch;
  };

  void forget_unless(std::span<const PlannedFilter> filters);
  void take(std::size_t set, const ObjectSnapshot& objects);

  Space space_;
  bool filters_all_ = false;  ///< some of the filters that were not chosen reject objects
  std::vector<std::uint8_t> is_chosen_;  ///< by filter, as the next three
  std::vector<float> shares_;
  std::vector<PassingTest> tests_;
  std::vector<PlannedFilter> known_filters_;  ///< of the last tick, with, by filter:
  std::vector<float> known_shares_;           ///< what it showed; unknown_share: nothing
  std::vector<std::uint32_t> set_of_;         ///< only for chosen ones
  std::vector<std::int64_t> oldest_us_;       ///< what PassingTest::least_rank refers to
  std::vector<PassingTest> chosen_tests_;     ///< by set
  PassingScan scan_;
  std::vector<PassingSet> sets_;
  std::vector<std::unique_ptr<Builder>> builders_;  ///< by thread
};

}  // namespace starling::cpu
