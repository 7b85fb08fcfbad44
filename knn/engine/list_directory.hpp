// SPDX-License-Identifier: Apache-2.0
// The lists of a tick, and how they match the lists of the last tick. Every Engine makes its
// reports from a ListDirectory. An engine builds a directory from its queries and keeps it until
// the queries, or the objects that have lists, change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/engine/engine_state.hpp"
#include "starling/knn/engine/staging.hpp"
#include "starling/knn/engine/tick_result.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct ListDirectory {
  struct List {
    Slot query = no_slot;
    std::uint32_t generation = 0;  ///< the generation of the query's slot
    Slot subject = no_slot;        ///< every-object: the subject's slot
    ObjectId subject_id{};
    std::uint32_t search = 0;  ///< the index under which the engine keeps the list's result
    bool with_state = false;
  };
  struct Query {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  std::vector<Query> queries;  ///< ordered by slot; an every-object query may have no list
  std::vector<List> lists;     ///< ordered by query slot, then by subject slot
  bool has_moving_anchors = false;
  bool has_every_object = false;
};

/// Adds the lists of a query to `directory`: one list, or for an every-object query one list for
/// each subject. Call add_lists for all queries, in the order of their slots.
///
/// `objects` has slot_count(), is_alive(slot), tags(slot) and id(slot). `add_search` is called for
/// each list, with the query and the slot of the object at which the search is anchored, or no_slot
/// for a fixed anchor. `add_search` returns the value of List::search.
template <class Objects, class AddSearch>
void add_lists(const QueryRow& query, const Objects& objects, ListDirectory& directory,
               const AddSearch& add_search) {
  directory.queries.push_back({query.slot, query.generation});
  ListDirectory::List list{.query = query.slot,
                           .generation = query.generation,
                           .subject = no_slot,
                           .subject_id = {},
                           .search = 0,
                           .with_state = query.with_state};
  if (query.anchor != AnchorKind::fixed) directory.has_moving_anchors = true;
  if (query.anchor != AnchorKind::every_object) {
    list.search = add_search(query, query.anchor == AnchorKind::follow ? query.object : no_slot);
    directory.lists.push_back(list);
    return;
  }
  directory.has_every_object = true;
  for (Slot slot = 0; slot < objects.slot_count(); ++slot) {
    if (!objects.is_alive(slot) || !query.subject.passes(objects.tags(slot))) continue;
    list.subject = slot;
    list.subject_id = objects.id(slot);
    list.search = add_search(query, slot);
    directory.lists.push_back(list);
  }
}

/// The lists of the last tick that continue, and the lists that are removed.
struct ListMatching {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// For each search of the new tick: the search of the same list in the last tick, or none.
  std::vector<std::uint32_t> last_search;
  std::vector<ReportedList> removals;  ///< ordered by query slot, then by subject slot
};

/// Matches the lists of two ticks. `searches` is the number of searches in `now`. A query that is
/// gone gives one removal, however many lists it had. A query that remains, or that was removed and
/// put again between the ticks, gives one removal for each list that is gone. The list of a subject
/// that has another slot now is the same list.
ListMatching match_lists(const ListDirectory& last, const ListDirectory& now, std::size_t searches);

/// Merges the removals into the updates of a tick, in place. When merge_removals is called, `lists`
/// has the updates first and then room for the removals. The result is ordered by query slot, with
/// the removals of a query before its updates.
void merge_removals(std::span<const ReportedList> removals, std::span<ReportedList> lists);

/// Returns the queries and lists of a state. The searches are numbered in the order of the lists.
ListDirectory directory_of(const EngineState& state);

/// Writes the queries and lists of a directory into a state. For a search, `count_of` returns the
/// number of neighbours, and `first_of` returns the index of the first neighbour.
template <class CountOf, class FirstOf>
void export_directory(const ListDirectory& directory, const CountOf& count_of,
                      const FirstOf& first_of, EngineState& state) {
  for (const ListDirectory::Query& query : directory.queries)
    state.queries_known.push_back({query.slot, query.generation});
  for (const ListDirectory::List& list : directory.lists)
    state.lists.push_back({.query = list.query,
                           .generation = list.generation,
                           .subject = list.subject,
                           .subject_id = list.subject_id,
                           .with_state = list.with_state,
                           .count = count_of(list.search),
                           .first = first_of(list.search)});
}

}  // namespace starling
