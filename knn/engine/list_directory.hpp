// Which lists a tick has, and what became of the last tick's: what every Engine needs to tell its
// reports from. Engines make one from their queries and keep it while nothing that shapes it
// changes.
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
    std::uint32_t generation = 0;  ///< of the query
    Slot subject = no_slot;        ///< every-object: the subject's slot
    ObjectId subject_id{};
    std::uint32_t search = 0;  ///< where the engine keeps its result
    bool with_state = false;
  };
  struct Query {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  std::vector<Query> queries;  ///< by slot; an every-object query may have no list
  std::vector<List> lists;     ///< by query slot, then subject slot
  bool has_moving_anchors = false;
  bool has_every_object = false;
};

/// Adds a query's lists: one, or of an every-object query one a subject. `objects` has slot_count()
/// and, by slot, is_alive, tags and id. `add_search` is called for each list with the query and the
/// object that its search is anchored to (no_slot: none), and returns List::search. Call by slot.
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

/// What became of the last tick's lists.
struct ListMatching {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::vector<std::uint32_t> last_search;  ///< by search of now: the same list's, or none
  std::vector<ReportedList> removals;      ///< by query slot, then subject slot
};

/// `searches` is how many searches `now` has. A query that is gone is reported once, whatever lists
/// it had; of a query that stays, or that was removed and put again between the ticks, each list
/// that is gone.
ListMatching match_lists(const ListDirectory& last, const ListDirectory& now, std::size_t searches);

/// Puts removals among a tick's updates, in place: by query slot, each query's removals first.
/// `lists` has the updates in front, and behind them room for the removals.
void merge_removals(std::span<const ReportedList> removals, std::span<ReportedList> lists);

/// The queries and lists of a state, its searches numbered in their order.
ListDirectory directory_of(const EngineState& state);

/// The same into a state. `count_of` and `first_of` tell of a search how many neighbours it has and
/// the index of the first.
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
