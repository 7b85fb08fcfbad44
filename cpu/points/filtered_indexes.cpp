// SPDX-License-Identifier: Apache-2.0
// Estimates what each filter costs with and without an index, and builds the chosen indexes: see
// filtered_indexes.hpp.
#include "starling/cpu/points/filtered_indexes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "starling/knn/base/headroom.hpp"

namespace starling::cpu {
namespace {

// Measured costs in nanoseconds. visit_ns: a search looks at one object and rejects it. test_ns:
// PassingScan tests one object for one filter. place_ns: an object is put into an index.
constexpr double visit_ns = 1;
constexpr double test_ns = 0.2;
constexpr double place_ns = 25;
// A search looks at about this many objects for each neighbour that it finds.
constexpr double visits_per_neighbor = 2;

// The share of objects that pass a filter is estimated from a sample. The sample is larger if there
// are fewer filters, so that all filters together make about sampled_tests_max tests. It has
// between about samples_min and twice samples_max objects, or all objects if there are fewer.
constexpr std::size_t samples_max = 512;
constexpr std::size_t samples_min = 32;
constexpr std::size_t sampled_tests_max = 1 << 20;

// The sets of all chosen filters together have at most about placed_share_max times the number of
// all objects. This bounds the memory.
constexpr double placed_share_max = 2;

// If a set has at least this number of objects, all threads build its index together. A single
// thread builds the index of a smaller set.
constexpr std::size_t large_set = 32'768;

constexpr float unknown_share = -1;

struct Sample {
  std::vector<std::uint32_t> tags;
  std::vector<std::int64_t> times_us;
};

Sample sample(const ObjectSnapshot& objects, std::size_t filters) {
  const std::size_t wanted = std::clamp(sampled_tests_max / filters, samples_min, samples_max);
  const std::size_t step = std::max<std::size_t>(objects.slot_count() / wanted, 1);
  Sample sampled;
  for (std::size_t i = step / 2; i < objects.slot_count(); i += step) {
    const auto slot = static_cast<Slot>(i);
    if (!objects.is_alive(slot)) continue;
    sampled.tags.push_back(objects.tags(slot));
    sampled.times_us.push_back(objects.time_us(slot));
  }
  return sampled;
}

/// Returns how many of the sampled objects pass the filter. The loops have no branches, because the
/// processor cannot predict whether an object passes.
std::size_t count_passing(const Sample& sampled, const PlannedFilter& filter, std::int64_t tau_us) {
  const auto [required, forbidden] = filter.tags;
  if ((required & forbidden) != 0) return 0;
  const std::uint32_t care = required | forbidden;
  std::uint32_t passed = 0;
  if (filter.age_us_max == Filter::any_age) {
    for (const std::uint32_t tags : sampled.tags) passed += (tags & care) == required ? 1u : 0u;
    return passed;
  }
  const std::int64_t oldest_us = oldest_time_us(tau_us, filter.age_us_max);
  for (std::size_t i = 0; i < sampled.tags.size(); ++i)
    passed += ((sampled.tags[i] & care) == required ? 1u : 0u) &
              (sampled.times_us[i] >= oldest_us ? 1u : 0u);
  return passed;
}

/// Returns an estimate of the share of all objects that pass the filter. The estimate is never 0.
double share_that_passes(const Sample& sampled, const PlannedFilter& filter, std::int64_t tau_us) {
  return (static_cast<double>(count_passing(sampled, filter, tau_us)) + 1) /
         (static_cast<double>(sampled.tags.size()) + 1);
}

/// Returns, for each filter with an age limit, the oldest event time that it accepts: ascending,
/// each time once.
std::vector<std::int64_t> oldest_times_us(std::span<const PlannedFilter> filters,
                                          std::int64_t tau_us) {
  std::vector<std::int64_t> times_us;
  for (const PlannedFilter& filter : filters)
    if (filter.age_us_max != Filter::any_age)
      times_us.push_back(oldest_time_us(tau_us, filter.age_us_max));
  std::ranges::sort(times_us);
  times_us.erase(std::unique(times_us.begin(), times_us.end()), times_us.end());
  return times_us;
}

/// Returns true if an index of its own saves time for the filter. `objects` is the number of
/// objects, and `share` is the share of them that pass the filter.
bool is_worth_an_index(const PlannedFilter& filter, double share, double objects) {
  const double needed_ns = visits_per_neighbor * visit_ns * static_cast<double>(filter.neighbors);
  const double among_all_ns =
      std::min(needed_ns / share, static_cast<double>(filter.searches) * objects * visit_ns);
  return needed_ns + objects * (test_ns + share * place_ns) < among_all_ns;
}

}  // namespace

void FilteredIndexes::choose(std::span<const PlannedFilter> filters, std::int64_t tau_us,
                             const ObjectSnapshot& objects) {
  is_chosen_.assign(filters.size(), 0);
  shares_.assign(filters.size(), 1);
  tests_.assign(filters.size(), {});
  set_of_.resize(filters.size());
  chosen_tests_.clear();
  filters_all_ = false;
  if (objects.alive_count() == 0 ||
      std::ranges::all_of(filters, [](const auto& filter) { return filter.accepts_all(); }))
    return;
  forget_unless(filters);
  const Sample sampled = sample(objects, filters.size());
  const double least_share = 1 / static_cast<double>(objects.alive_count());
  oldest_us_ = oldest_times_us(filters, tau_us);
  std::vector<std::uint32_t> worth;
  for (std::uint32_t i = 0; i < filters.size(); ++i) {
    if (filters[i].accepts_all()) continue;
    const double share = known_shares_[i] != unknown_share
                             ? std::max<double>(known_shares_[i], least_share)
                             : share_that_passes(sampled, filters[i], tau_us);
    known_shares_[i] = unknown_share;
    shares_[i] = static_cast<float>(share);
    tests_[i] =
        passing_test(filters[i].tags, oldest_time_us(tau_us, filters[i].age_us_max), oldest_us_);
    if (is_worth_an_index(filters[i], share, static_cast<double>(objects.slot_count())))
      worth.push_back(i);
    else
      filters_all_ = true;
  }
  // Filters that only few objects pass come first: their indexes save the most time and need the
  // least memory.
  std::ranges::sort(worth, {}, [&](std::uint32_t filter) { return shares_[filter]; });
  double placed_share = 0;
  for (const std::uint32_t filter : worth) {
    placed_share += double{shares_[filter]};
    if (placed_share > placed_share_max) {
      filters_all_ = true;
      break;
    }
    is_chosen_[filter] = 1;
    set_of_[filter] = static_cast<std::uint32_t>(chosen_tests_.size());
    chosen_tests_.push_back(tests_[filter]);
  }
}

void FilteredIndexes::forget_unless(std::span<const PlannedFilter> filters) {
  if (std::ranges::equal(known_filters_, filters)) return;
  known_filters_.assign(filters.begin(), filters.end());
  known_shares_.assign(filters.size(), unknown_share);
}

void FilteredIndexes::build(const ObjectSnapshot& objects, SpatialIndex& index,
                            SpatialIndex::Scratch& scratch, ThreadPool& pool) {
  if (filters_all_) index.attach(objects, oldest_us_, pool);
  while (sets_.size() > chosen_tests_.size()) sets_.pop_back();
  while (sets_.size() < chosen_tests_.size()) sets_.emplace_back(space_);
  if (sets_.empty()) return;
  scan_.run(objects, chosen_tests_, oldest_us_, pool);
  while (builders_.size() < pool.threads()) builders_.push_back(std::make_unique<Builder>());
  const auto points_of = [](const PassingSet& set) {
    return PointSet{set.positions, set.slots, set.slots.size(), set.box};
  };
  pool.run(sets_.size(), [&](std::size_t i, unsigned thread) {
    take(i, objects);
    Builder& builder = *builders_[thread];
    if (sets_[i].slots.size() < large_set)
      sets_[i].index.build(points_of(sets_[i]), objects, builder.scratch, builder.alone);
  });
  for (PassingSet& set : sets_)
    if (set.slots.size() >= large_set) set.index.build(points_of(set), objects, scratch, pool);
  for (std::size_t filter = 0; filter < is_chosen_.size(); ++filter)
    if (is_chosen_[filter] != 0)
      known_shares_[filter] = static_cast<float>(sets_[set_of_[filter]].slots.size()) /
                              static_cast<float>(objects.alive_count());
}

void FilteredIndexes::take(std::size_t set_number, const ObjectSnapshot& objects) {
  PassingSet& set = sets_[set_number];
  set.slots.clear();
  scan_.append_slots(set_number, set.slots);
  resize_with_headroom(set.positions, set.slots.size());
  set.box = {};
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    set.positions[i] = objects.position(set.slots[i]);
    set.box.add(set.positions[i]);
  }
}

std::uint64_t FilteredIndexes::bytes_used() const {
  std::uint64_t bytes = scan_.bytes_used();
  for (const PassingSet& set : sets_)
    bytes += set.positions.capacity() * sizeof(LatticePoint) + set.slots.capacity() * sizeof(Slot) +
             set.index.bytes_used();
  return bytes;
}

}  // namespace starling::cpu
