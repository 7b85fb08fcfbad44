// SPDX-License-Identifier: Apache-2.0
// Replaces the kept row of a slot by the newer row of the same slot, in place. Rows are sorted by
// slot first, unless their vectors and targets are in parallel arrays. See kept_rows.hpp.
#include "starling/knn/engine/kept_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace starling {
namespace {

// Merges in place, because memory is short when keep_rows is called.
template <class Row>
void keep_newest(StagedVector<Row>& newer, StagedVector<Row>& kept) {
  if (kept.empty()) return kept.swap(newer);
  std::ranges::sort(kept, {}, &Row::slot);
  std::ranges::sort(newer, {}, &Row::slot);
  const std::size_t kept_before = kept.size();
  std::size_t place = 0;
  for (const Row& row : newer) {
    while (place < kept_before && kept[place].slot < row.slot) ++place;
    if (place < kept_before && kept[place].slot == row.slot)
      kept[place] = row;
    else
      kept.push_back(row);
  }
}

/// An array parallel to the rows, with the same number of elements for each row.
template <class Element>
struct Column {
  StagedVector<Element>& newer;
  StagedVector<Element>& kept;

  void keep(std::size_t newer_row, std::size_t newer_rows, std::size_t kept_row) {
    const std::size_t width = newer.size() / newer_rows;
    if (kept.size() < (kept_row + 1) * width) kept.resize((kept_row + 1) * width);
    std::copy_n(newer.begin() + static_cast<std::ptrdiff_t>(newer_row * width), width,
                kept.begin() + static_cast<std::ptrdiff_t>(kept_row * width));
  }
};

/// Removes all rows of a slot except the last one.
void remove_older(StagedVector<ObjectRow>& rows) {
  std::ranges::stable_sort(rows, {}, &ObjectRow::slot);
  const auto same_slot = [](const ObjectRow& a, const ObjectRow& b) { return a.slot == b.slot; };
  const auto rest = std::unique(rows.rbegin(), rows.rend(), same_slot);
  rows.erase(rows.begin(), rest.base());
}

/// Does the same for rows with parallel arrays, but does not sort them by slot.
template <class... Elements>
void remove_older(StagedVector<ObjectRow>& rows, StagedVector<Elements>&... columns) {
  std::vector<std::pair<Slot, std::size_t>> places;
  places.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) places.emplace_back(rows[i].slot, i);
  std::ranges::sort(places);
  const auto is_last = [&](std::size_t i) {
    const auto next = std::ranges::upper_bound(places, std::pair(rows[i].slot, i));
    return next == places.end() || next->first != rows[i].slot;
  };
  std::vector<bool> stays(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) stays[i] = is_last(i);
  const auto leave = [&](auto& values) {
    const auto width = static_cast<std::ptrdiff_t>(values.size() / stays.size());
    auto to = values.begin();
    for (std::size_t i = 0; i < stays.size(); ++i)
      if (stays[i])
        to = std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i) * width, width, to);
    values.erase(to, values.end());
  };
  (leave(columns), ...);
  leave(rows);
}

// Rows with parallel arrays are not sorted. The array `places`, by which rows are found, is small
// compared with the parallel arrays.
template <class Row, class... Elements>
void keep_newest(StagedVector<Row>& newer, StagedVector<Row>& kept, Column<Elements>... columns) {
  if (kept.empty()) {
    kept.swap(newer);
    (columns.kept.swap(columns.newer), ...);
    return;
  }
  std::vector<std::pair<Slot, std::size_t>> places;
  places.reserve(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) places.emplace_back(kept[i].slot, i);
  std::ranges::sort(places);
  for (std::size_t i = 0; i < newer.size(); ++i) {
    const auto known = std::ranges::lower_bound(places, newer[i].slot, {},
                                                [](const auto& place) { return place.first; });
    const bool is_known = known != places.end() && known->first == newer[i].slot;
    const std::size_t row = is_known ? known->second : kept.size();
    if (is_known)
      kept[row] = newer[i];
    else
      kept.push_back(newer[i]);
    (columns.keep(i, newer.size(), row), ...);
  }
}

}  // namespace

void keep_rows(Staging& newer, Staging& kept) noexcept {
  keep_newest(newer.births, kept.births);
  const auto has_vectors = [](const Staging& half) {
    return !half.object_components.empty() || !half.query_components.empty();
  };
  if (has_vectors(newer) || has_vectors(kept)) {
    if (!newer.part_ends.empty())
      remove_older(newer.objects, newer.object_components, newer.object_targets);
    keep_newest(newer.objects, kept.objects,
                Column<float>{newer.object_components, kept.object_components},
                Column<Targets>{newer.object_targets, kept.object_targets});
    keep_newest(newer.queries, kept.queries,
                Column<float>{newer.query_components, kept.query_components});
  } else {
    if (!newer.part_ends.empty()) remove_older(newer.objects);
    keep_newest(newer.objects, kept.objects);
    keep_newest(newer.queries, kept.queries);
  }
  newer.clear();
}

}  // namespace starling
