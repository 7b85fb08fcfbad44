// SPDX-License-Identifier: Apache-2.0
// Makes the lists of the queries, numbers their filters, and sorts their searches by the cells of
// the index: see list_plan.hpp. CpuEngine makes a plan when lists are added or removed or queries
// change, and every few ticks if anchors move.
#include "starling/cpu/points/list_plan.hpp"

#include <numeric>
#include <unordered_map>
#include <utility>

#include "starling/cpu/simd/key_sort.hpp"

namespace starling::cpu {
namespace {

/// Numbers the different filters, and counts the searches of each filter.
class FilterNumbers {
 public:
  explicit FilterNumbers(std::vector<PlannedFilter>& filters) : filters_(filters) {}

  std::uint32_t of(const QueryRow& query) {
    const Key key{query.filter.tags, query.filter.age_us_max};
    // Consecutive queries often have the same filter.
    if (filters_.empty() || key != last_) {
      const auto [found, is_new] =
          numbers_.try_emplace(key, static_cast<std::uint32_t>(filters_.size()));
      if (is_new) filters_.push_back({.tags = key.tags, .age_us_max = key.age_us_max});
      last_ = key;
      last_number_ = found->second;
    }
    ++filters_[last_number_].searches;
    filters_[last_number_].neighbors += query.k;
    return last_number_;
  }

 private:
  struct Key {
    TagFilter tags;
    std::int64_t age_us_max = Filter::any_age;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t tags = std::uint64_t{key.tags.required} << 32 | key.tags.forbidden;
      const std::uint64_t mixed =
          (tags ^ static_cast<std::uint64_t>(key.age_us_max) * 0x9e3779b97f4a7c15) *
          0xbf58476d1ce4e5b9;
      return static_cast<std::size_t>(mixed ^ mixed >> 31);
    }
  };

  std::vector<PlannedFilter>& filters_;
  std::unordered_map<Key, std::uint32_t, Hash> numbers_;
  Key last_;
  std::uint32_t last_number_ = 0;
};

/// Returns the searches in this order: first the searches whose filters are not grouped, then the
/// searches of each grouped filter. Each of these groups keeps the order of `by_cell`. An entry of
/// `by_cell` has a cell in its upper 32 bits and the index of a search in its lower 32 bits.
std::vector<std::uint32_t> grouped(const std::vector<std::uint64_t>& by_cell,
                                   const std::vector<PlannedSearch>& searches,
                                   const std::vector<std::uint8_t>& is_grouped) {
  const auto group_of = [&](std::uint64_t key) {
    const std::uint32_t filter = searches[static_cast<std::uint32_t>(key)].filter;
    return is_grouped[filter] != 0 ? filter + 1 : 0;
  };
  std::vector<std::uint32_t> begins(is_grouped.size() + 2);
  for (const std::uint64_t key : by_cell) ++begins[group_of(key) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::uint32_t> order(by_cell.size());
  for (const std::uint64_t key : by_cell)
    order[begins[group_of(key)]++] = static_cast<std::uint32_t>(key);
  return order;
}

}  // namespace

ListPlan::ListPlan(std::span<const QueryRow> rows, const ObjectSnapshot& objects) {
  FilterNumbers numbers(filters);
  const auto add_search = [&](const QueryRow& query, Slot anchor) {
    searches.push_back({query.position, anchor, query.k, numbers.of(query), query.filter.key_max});
    rooms.push_back({0, query.on});
    return static_cast<std::uint32_t>(searches.size() - 1);
  };
  for (const QueryRow& query : rows)
    if (is_alive(query.generation)) add_lists(query, objects, *this, add_search);
}

void ListPlan::order(const ObjectSnapshot& objects, const SpatialIndex& index,
                     std::vector<std::uint8_t> grouped_filters) {
  is_grouped = std::move(grouped_filters);
  std::vector<std::uint64_t> by_cell(searches.size());
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const Slot anchor = searches[i].anchor;
    const LatticePoint& position =
        objects.is_known_alive(anchor) ? objects.position(anchor) : searches[i].position;
    by_cell[i] = (std::uint64_t{index.cell(position)} << 32) | i;
  }
  sort_keys(by_cell);
  std::vector<PlannedSearch> in_order;
  std::vector<Room> rooms_in_order;
  in_order.reserve(searches.size());
  rooms_in_order.reserve(searches.size());
  for (const std::uint32_t list : grouped(by_cell, searches, is_grouped)) {
    lists[list].search = static_cast<std::uint32_t>(in_order.size());
    in_order.push_back(searches[list]);
    rooms_in_order.push_back({room, rooms[list].on});
    room += searches[list].k;
  }
  searches = std::move(in_order);
  rooms = std::move(rooms_in_order);
}

}  // namespace starling::cpu
