// SPDX-License-Identifier: Apache-2.0
// Compares merge_removals with std::ranges::merge on random reports.
#include "starling/knn/engine/list_directory.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/random.hpp"

namespace starling {
namespace {

using test::Random;

ReportedList report(Slot query, ListEvent event, std::uint32_t count = 0) {
  ReportedList list;
  list.query = query;
  list.event = event;
  list.count = count;  // tells the lists of a query apart
  return list;
}

std::vector<ReportedList> draw_reports(Random& random, ListEvent event) {
  std::vector<ReportedList> reports;
  const std::uint64_t count = random.below(8);
  for (std::uint32_t i = 0; i < count; ++i)
    reports.push_back(report(static_cast<Slot>(random.below(5)), event, i));
  std::ranges::stable_sort(reports, {}, &ReportedList::query);
  return reports;
}

bool are_same(const ReportedList& a, const ReportedList& b) {
  return a.query == b.query && a.event == b.event && a.count == b.count;
}

TEST(MergeRemovals, EachQuerysRemovalsComeBeforeItsUpdatesAndNothingElseChangesPlaces) {
  for (const std::uint64_t seed : test::seeds(500)) {
    SCOPED_TRACE(test::replay_hint(seed));
    Random random(seed);
    const std::vector<ReportedList> updates = draw_reports(random, ListEvent::updated);
    const std::vector<ReportedList> removals = draw_reports(random, ListEvent::removed);
    std::vector<ReportedList> expected;
    std::ranges::merge(removals, updates, std::back_inserter(expected), {}, &ReportedList::query,
                       &ReportedList::query);
    std::vector<ReportedList> lists = updates;
    lists.resize(updates.size() + removals.size());
    merge_removals(removals, lists);
    EXPECT_TRUE(std::ranges::equal(lists, expected, are_same));
  }
}

}  // namespace
}  // namespace starling
