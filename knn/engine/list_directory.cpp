// SPDX-License-Identifier: Apache-2.0
// Matches the lists of two ticks in one pass, because the lists of both ticks are in the same
// order. Only the lists of subjects whose slot differs are sorted. See list_directory.hpp.
#include "starling/knn/engine/list_directory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace starling {
namespace {

auto key_of(const ListDirectory::List& list) {
  // A list without a subject comes before lists with a subject, because no_slot + 1 is 0.
  return std::tuple(list.query, static_cast<Slot>(list.subject + 1));
}

ReportedList removal(const ListDirectory::List& list) {
  ReportedList report;
  report.query = list.query;
  report.event = ListEvent::removed;
  report.has_subject = list.subject != no_slot;
  report.subject = list.subject_id;
  return report;
}

class Matcher {
 public:
  Matcher(const ListDirectory& last, const ListDirectory& now) : last_(last), now_(now) {}

  ListMatching run(std::size_t searches) {
    matching_.last_search.resize(searches, ListMatching::none);
    auto query = now_.queries.begin();
    for (const ListDirectory::Query& before : last_.queries) {
      while (query != now_.queries.end() && query->slot < before.slot) ++query;
      if (query == now_.queries.end() || query->slot != before.slot)
        report_gone(before.slot);
      else
        match_query(before.slot, query->generation == before.generation);
    }
    return std::move(matching_);
  }

 private:
  static auto lists_of(const ListDirectory& directory, Slot query) {
    return std::ranges::equal_range(directory.lists, query, {}, &ListDirectory::List::query);
  }

  void match_query(Slot query, bool is_same_query) {
    const auto before = lists_of(last_, query);
    auto last = before.begin();
    gone_.clear();
    come_.clear();
    for (const ListDirectory::List& list : lists_of(now_, query)) {
      for (; last != before.end() && key_of(*last) < key_of(list); ++last) gone_.push_back(&*last);
      const bool is_known = last != before.end() && key_of(*last) == key_of(list);
      if (is_known && last->subject_id == list.subject_id) {
        if (is_same_query) matching_.last_search[list.search] = last->search;
        ++last;
        continue;
      }
      if (is_known) gone_.push_back(&*last++);  // another object in the same slot
      if (!before.empty()) come_.push_back(&list);
    }
    for (; last != before.end(); ++last) gone_.push_back(&*last);
    match_moved(is_same_query);
    for (const ListDirectory::List* const list : gone_)
      if (list != nullptr) matching_.removals.push_back(removal(*list));
  }

  /// Takes out of gone_ the lists of subjects that came back in another slot. A subject does so if
  /// ticks failed while its removal was not reported yet, for longer than a tombstone is kept.
  void match_moved(bool is_same_query) {
    if (gone_.empty() || come_.empty()) return;
    by_subject_.clear();
    for (std::size_t i = 0; i < gone_.size(); ++i)
      if (gone_[i]->subject != no_slot) by_subject_.emplace_back(gone_[i]->subject_id, i);
    std::ranges::sort(by_subject_);
    for (const ListDirectory::List* const list : come_) {
      if (list->subject == no_slot) continue;
      const auto found = std::ranges::lower_bound(by_subject_, list->subject_id, {},
                                                  [](const auto& each) { return each.first; });
      if (found == by_subject_.end() || found->first != list->subject_id) continue;
      if (is_same_query) matching_.last_search[list->search] = gone_[found->second]->search;
      gone_[found->second] = nullptr;
    }
  }

  void report_gone(Slot query) {
    ReportedList& report = matching_.removals.emplace_back();
    report.query = query;
    report.event = ListEvent::removed;
  }

  const ListDirectory& last_;
  const ListDirectory& now_;
  ListMatching matching_;
  // Of the query that is matched now:
  std::vector<const ListDirectory::List*> gone_;  ///< lists of last_ that no list in now_ continues
  std::vector<const ListDirectory::List*> come_;  ///< lists of now_ that continue no list in last_
  std::vector<std::pair<ObjectId, std::size_t>> by_subject_;  ///< of gone_, with the index there
};

}  // namespace

ListMatching match_lists(const ListDirectory& last, const ListDirectory& now,
                         std::size_t searches) {
  return Matcher(last, now).run(searches);
}

// Fills `lists` from the back, so that no update is overwritten before it has moved.
void merge_removals(std::span<const ReportedList> removals, std::span<ReportedList> lists) {
  std::size_t updates = lists.size() - removals.size();
  for (std::size_t end = lists.size(); !removals.empty(); --end) {
    if (updates > 0 && lists[updates - 1].query >= removals.back().query) {
      lists[end - 1] = lists[--updates];
    } else {
      lists[end - 1] = removals.back();
      removals = removals.first(removals.size() - 1);
    }
  }
}

ListDirectory directory_of(const EngineState& state) {
  ListDirectory directory;
  for (const EngineState::Query& query : state.queries_known)
    directory.queries.push_back({query.slot, query.generation});
  for (const EngineState::List& list : state.lists) {
    const auto search = static_cast<std::uint32_t>(directory.lists.size());
    directory.lists.push_back(
        {list.query, list.generation, list.subject, list.subject_id, search, list.with_state});
  }
  return directory;
}

}  // namespace starling
