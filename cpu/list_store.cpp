#include "cpu/list_store.hpp"

#include <algorithm>
#include <tuple>

namespace starling::cpu {
namespace {

constexpr std::size_t lists_grain = 512;
constexpr std::uint32_t no_entry = ~std::uint32_t{0};

auto key_of(const ListEntry& entry) {
  // A list without a subject comes before those with one: no_slot + 1 is 0.
  return std::tuple(entry.query, static_cast<Slot>(entry.subject + 1));
}

bool same_members(std::span<const Neighbor> a, std::span<const Neighbor> b) {
  std::vector<ObjectId> a_ids;
  std::vector<ObjectId> b_ids;
  for (const Neighbor& neighbor : a) a_ids.push_back(neighbor.object);
  for (const Neighbor& neighbor : b) b_ids.push_back(neighbor.object);
  std::ranges::sort(a_ids);
  std::ranges::sort(b_ids);
  return a_ids == b_ids;
}

bool has_changed(std::span<const Neighbor> last, std::span<const Neighbor> now, ReportOn on) {
  if (last.size() != now.size()) return true;
  if (on == ReportOn::distance) return !std::ranges::equal(last, now);
  if (std::ranges::equal(last, now, {}, &Neighbor::object, &Neighbor::object)) return false;
  return on == ReportOn::order || !same_members(last, now);
}

// For each list of now, the same list of the last tick; and the lists that are gone.
struct Matching {
  std::vector<std::uint32_t> last_of;
  std::vector<std::uint32_t> gone;
};

Matching match(const TickLists& last, const TickLists& now) {
  Matching matching;
  matching.last_of.resize(now.entries.size(), no_entry);
  std::uint32_t i = 0;
  for (std::uint32_t j = 0; j < now.entries.size(); ++j) {
    const ListEntry& entry = now.entries[j];
    for (; i < last.entries.size() && key_of(last.entries[i]) < key_of(entry); ++i)
      matching.gone.push_back(i);
    if (i == last.entries.size() || key_of(last.entries[i]) != key_of(entry)) continue;
    const ListEntry& same = last.entries[i];
    if (same.generation == entry.generation && same.subject_id == entry.subject_id)
      matching.last_of[j] = i;
    else if (entry.subject != no_slot)
      matching.gone.push_back(i);  // a reused slot: another subject, or another query
    ++i;
  }
  for (; i < last.entries.size(); ++i) matching.gone.push_back(i);
  return matching;
}

ReportedList removal(const ListEntry& entry) {
  ReportedList list;
  list.query = entry.query;
  list.event = ListEvent::removed;
  list.has_subject = entry.subject != no_slot;
  list.subject = entry.subject_id;
  return list;
}

}  // namespace

void lay_out(TickLists& lists, std::span<const QueryRow> queries, const ObjectSnapshot& objects) {
  lists.entries.clear();
  std::uint64_t room = 0;
  for (const QueryRow& query : queries) {
    if (!is_alive(query.generation)) continue;
    ListEntry entry{.query = query.slot,
                    .generation = query.generation,
                    .subject = no_slot,
                    .subject_id = {},
                    .count = 0,
                    .first = room};
    if (query.anchor != AnchorKind::every_object) {
      lists.entries.push_back(entry);
      room += query.k;
      continue;
    }
    for (Slot slot = 0; slot < objects.slot_count(); ++slot) {
      if (!objects.is_alive(slot) || !query.subject.passes(objects.tags(slot))) continue;
      entry.subject = slot;
      entry.subject_id = objects.id(slot);
      entry.first = room;
      lists.entries.push_back(entry);
      room += query.k;
    }
  }
  lists.neighbors.resize(room);
  lists.slots.resize(room);
}

void collect_changes(const TickLists& last, const TickLists& now, std::span<const QueryRow> queries,
                     const ObjectSnapshot& objects, ThreadPool& pool, TickResult& result) {
  const Matching matching = match(last, now);
  std::vector<char> changed(now.entries.size());
  pool.for_ranges(
      now.entries.size(), lists_grain, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i) {
          const ListEntry& entry = now.entries[i];
          const std::uint32_t before = matching.last_of[i];
          changed[i] = before == no_entry || has_changed(last.of(last.entries[before]),
                                                         now.of(entry), queries[entry.query].on);
        }
      });

  // Merge the changed and the gone, and give every reported list its place.
  std::vector<std::uint32_t> sources;
  std::uint64_t neighbors = 0;
  std::uint64_t states = 0;
  std::size_t gone = 0;
  const auto report_gone_before = [&](const ListEntry* entry) {
    for (; gone < matching.gone.size(); ++gone) {
      const ListEntry& left = last.entries[matching.gone[gone]];
      if (entry != nullptr && key_of(*entry) < key_of(left)) return;
      result.lists.push_back(removal(left));
      sources.push_back(no_entry);
    }
  };
  for (std::uint32_t i = 0; i < now.entries.size(); ++i) {
    const ListEntry& entry = now.entries[i];
    report_gone_before(&entry);
    if (changed[i] == 0) continue;
    ReportedList list{.query = entry.query,
                      .event = ListEvent::updated,
                      .has_subject = entry.subject != no_slot,
                      .subject = entry.subject_id,
                      .count = entry.count,
                      .first = neighbors,
                      .first_state = ReportedList::no_state};
    neighbors += entry.count;
    if (queries[entry.query].with_state) {
      list.first_state = states;
      states += entry.count;
    }
    result.lists.push_back(list);
    sources.push_back(i);
  }
  report_gone_before(nullptr);

  result.neighbors.resize(neighbors);
  result.states.resize(states);
  pool.for_ranges(
      result.lists.size(), lists_grain, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i) {
          if (sources[i] == no_entry) continue;
          const ListEntry& entry = now.entries[sources[i]];
          const ReportedList& list = result.lists[i];
          std::ranges::copy(now.of(entry),
                            result.neighbors.begin() + static_cast<std::ptrdiff_t>(list.first));
          if (list.first_state == ReportedList::no_state) continue;
          for (std::uint32_t n = 0; n < entry.count; ++n) {
            const Slot slot = now.slots[entry.first + n];
            result.states[list.first_state + n] = {objects.position(slot), objects.tags(slot)};
          }
        }
      });
}

}  // namespace starling::cpu
