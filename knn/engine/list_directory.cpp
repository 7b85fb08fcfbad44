// SPDX-License-Identifier: Apache-2.0
// Matches the lists of two ticks in one pass by slot, because the lists of both ticks are in the
// same order. The lists that are left over are matched by the subject's id. See
// list_directory.hpp.
#include "starling/knn/engine/list_directory.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// A set of ids that is sometimes wrong: may_have can return true for an id that was not added.
class IdFilter {
 public:
  /// Empties the set and makes room for this number of ids.
  void restart(std::size_t ids) {
    const std::size_t bits = std::bit_ceil(std::max<std::size_t>(64, ids * bits_per_id));
    words_.assign(bits / 64, 0);
    shift_ = 64 - std::countr_zero(bits);
  }
  void add(ObjectId id) { words_[place_of(id) / 64] |= std::uint64_t{1} << place_of(id) % 64; }
  bool may_have(ObjectId id) const {
    return (words_[place_of(id) / 64] >> place_of(id) % 64 & 1) != 0;
  }

 private:
  static constexpr std::size_t bits_per_id = 16;  // at most 1 of 16 other ids passes

  std::uint64_t place_of(ObjectId id) const {
    return to_number(id) * 0x9E3779B97F4A7C15 >> shift_;  // multiplicative hashing (Knuth)
  }

  std::vector<std::uint64_t> words_;
  int shift_ = 0;
};

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
  /// A list of `now_` that has a subject, and that continues no list in the same slot.
  struct Arrival {
    ObjectId subject{};
    std::uint32_t search = 0;
  };

  static auto lists_of(const ListDirectory& directory, Slot query) {
    return std::ranges::equal_range(directory.lists, query, {}, &ListDirectory::List::query);
  }

  void match_query(Slot query, bool is_same_query) {
    const auto before = lists_of(last_, query);
    const std::size_t first_removal = matching_.removals.size();
    arrivals_.clear();
    auto last = before.begin();
    for (const ListDirectory::List& list : lists_of(now_, query)) {
      for (; last != before.end() && key_of(*last) < key_of(list); ++last)
        matching_.removals.push_back(removal(*last));
      const bool is_in_slot = last != before.end() && key_of(*last) == key_of(list);
      if (is_in_slot && last->subject_id == list.subject_id) {
        if (is_same_query) matching_.last_search[list.search] = last->search;
        ++last;
        continue;
      }
      if (is_in_slot) matching_.removals.push_back(removal(*last++));  // the list of another object
      if (list.subject != no_slot && !before.empty())
        arrivals_.push_back({list.subject_id, list.search});
    }
    for (; last != before.end(); ++last) matching_.removals.push_back(removal(*last));
    match_moved(before, first_removal, is_same_query);
  }

  /// Matches the lists of subjects that came back in another slot, and drops their removals. A
  /// subject gets another slot if ticks failed before its removal was reported, for longer than a
  /// tombstone is kept. This is rare, so cheap tests come first.
  template <class Lists>
  void match_moved(const Lists& before, std::size_t first_removal, bool is_same_query) {
    const auto removals = std::span(matching_.removals).subspan(first_removal);
    if (removals.empty() || arrivals_.empty()) return;
    filter_.restart(removals.size());
    for (const ReportedList& each : removals) filter_.add(each.subject);
    std::erase_if(arrivals_, [&](const Arrival& each) { return !filter_.may_have(each.subject); });
    filter_.restart(arrivals_.size());
    for (const Arrival& each : arrivals_) filter_.add(each.subject);
    std::ranges::sort(arrivals_, {}, &Arrival::subject);
    const auto taken_back = std::ranges::remove_if(removals, [&](const ReportedList& each) {
      return each.has_subject && find_arrival(each.subject) != nullptr;
    });
    if (taken_back.empty()) return;
    matching_.removals.resize(matching_.removals.size() - taken_back.size());
    if (!is_same_query) return;
    for (const ListDirectory::List& list : before)
      if (list.subject != no_slot)
        if (const Arrival* const arrival = find_arrival(list.subject_id))
          matching_.last_search[arrival->search] = list.search;
  }

  const Arrival* find_arrival(ObjectId subject) const {
    if (!filter_.may_have(subject)) return nullptr;
    const auto found = std::ranges::lower_bound(arrivals_, subject, {}, &Arrival::subject);
    return found != arrivals_.end() && found->subject == subject ? &*found : nullptr;
  }

  void report_gone(Slot query) {
    ReportedList& report = matching_.removals.emplace_back();
    report.query = query;
    report.event = ListEvent::removed;
  }

  const ListDirectory& last_;
  const ListDirectory& now_;
  ListMatching matching_;
  std::vector<Arrival> arrivals_;  ///< arrivals of the query that is matched now
  IdFilter filter_;
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
