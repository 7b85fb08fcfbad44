// SPDX-License-Identifier: Apache-2.0
// Compares merge_removals with std::ranges::merge on random reports, and match_lists with maps by
// subject on random lists.
#include "starling/knn/engine/list_directory.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
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
  list.count = count;  // distinguishes the lists of a query
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

using SubjectKey = std::pair<Slot, std::optional<ObjectId>>;  // the query, and the subject if any

SubjectKey key_of(const ListDirectory::List& list) {
  if (list.subject == no_slot) return {list.query, std::nullopt};
  return {list.query, list.subject_id};
}

/// Returns the numbers from 0 to `count` - 1 in any order.
std::vector<std::uint32_t> draw_numbers(Random& random, std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
  return numbers;
}

/// Draws queries with one list or with one list for each of some objects. Each directory has its
/// objects in other slots, and its searches in random order.
ListDirectory draw_directory(Random& random) {
  const std::vector<std::uint32_t> ids = draw_numbers(random, 6);
  ListDirectory directory;
  const auto add = [&](Slot query, std::uint32_t generation, Slot subject, ObjectId id) {
    directory.lists.push_back({query, generation, subject, id, 0, false});
  };
  for (Slot query = 0; query < 4; ++query) {
    if (random.chance(0.3)) continue;
    const auto generation = static_cast<std::uint32_t>(random.below(2));
    directory.queries.push_back({query, generation});
    if (random.chance(0.2)) {
      add(query, generation, no_slot, {});
      continue;
    }
    for (Slot slot = 0; slot < ids.size(); ++slot)
      if (random.chance(0.6)) add(query, generation, slot, ObjectId{ids[slot]});
  }
  const std::vector<std::uint32_t> searches = draw_numbers(random, directory.lists.size());
  for (std::size_t i = 0; i < searches.size(); ++i) directory.lists[i].search = searches[i];
  return directory;
}

const ListDirectory::Query* find(const ListDirectory& directory, Slot query) {
  const auto found = std::ranges::find(directory.queries, query, &ListDirectory::Query::slot);
  return found == directory.queries.end() ? nullptr : &*found;
}

TEST(MatchLists, AListIsKnownByItsQueryAndSubjectWhateverTheSubjectsSlot) {
  for (const std::uint64_t seed : test::seeds(2000)) {
    SCOPED_TRACE(test::replay_hint(seed));
    Random random(seed);
    const ListDirectory last = draw_directory(random);
    const ListDirectory now = draw_directory(random);
    std::map<SubjectKey, const ListDirectory::List*> before;
    for (const ListDirectory::List& list : last.lists) before[key_of(list)] = &list;

    std::vector<std::uint32_t> searches(now.lists.size());
    std::set<SubjectKey> kept;
    for (const ListDirectory::List& list : now.lists) {
      const auto known = before.find(key_of(list));
      const bool continues = known != before.end() && known->second->generation == list.generation;
      searches[list.search] = continues ? known->second->search : ListMatching::none;
      kept.insert(key_of(list));
    }
    std::vector<SubjectKey> removals;
    for (const ListDirectory::Query& query : last.queries) {
      if (find(now, query.slot) == nullptr) {
        removals.emplace_back(query.slot, std::nullopt);
        continue;
      }
      for (const ListDirectory::List& list : last.lists)
        if (list.query == query.slot && !kept.contains(key_of(list)))
          removals.push_back(key_of(list));
    }

    const ListMatching matching = match_lists(last, now, now.lists.size());
    EXPECT_EQ(matching.last_search, searches);
    std::vector<SubjectKey> reported;
    for (const ReportedList& removal : matching.removals) {
      EXPECT_EQ(removal.event, ListEvent::removed);
      reported.emplace_back(removal.query,
                            removal.has_subject ? std::optional(removal.subject) : std::nullopt);
    }
    EXPECT_EQ(reported, removals) << "in the order of the last tick's lists";
  }
}

}  // namespace
}  // namespace starling
