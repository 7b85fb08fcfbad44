// SPDX-License-Identifier: Apache-2.0
// Decides whether the filtered grid is worth its cost, and picks the objects that pass: see
// filtered_grid.hpp.
#include "starling/cpu/points/filtered_grid.hpp"

#include <algorithm>

namespace starling::cpu {
namespace {

constexpr std::size_t samples_max = 512;

// Picking the passing objects costs about a nanosecond for each of all objects. Rejecting an object
// during a search costs about as much as this many of them.
constexpr double objects_per_meeting = 2;

/// Returns an estimate, from a sample of slots, of the share of all objects that pass. Never 0.
double passing_share(const ObjectSnapshot& objects, const TagFilter& tags) {
  const std::size_t step = std::max<std::size_t>(objects.slot_count() / samples_max, 1);
  std::size_t asked = 0;
  std::size_t passed = 0;
  for (std::size_t slot = 0; slot < objects.slot_count(); slot += step, ++asked)
    if (tags.passes(objects.tags(static_cast<Slot>(slot)))) ++passed;
  return (static_cast<double>(passed) + 1) / (static_cast<double>(asked) + 1);
}

}  // namespace

void FilteredGrid::build(const ListPlan& plan, const ObjectSnapshot& objects,
                         GridIndex::Scratch& scratch, ThreadPool& pool) {
  is_built_ = false;
  if (plan.usual_tags.is_empty() || objects.alive_count() == 0) return;
  const double met =
      static_cast<double>(plan.usual_tags_neighbors) / passing_share(objects, plan.usual_tags);
  if (met * objects_per_meeting < static_cast<double>(objects.slot_count())) return;
  tags_ = plan.usual_tags;
  passing_.take_passing(objects, tags_, pool);
  is_built_ =
      passing_.alive_count() > 0 && grid_.build(passing_, passing_.box(), space_, scratch, pool);
}

}  // namespace starling::cpu
