// SPDX-License-Identifier: Apache-2.0
// Functions of ObjectTable for one row of an update, both for updates row by row (object_table.cpp)
// and for updates on several threads (object_table_group.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/knn/base/usage.hpp"
#include "starling/knn/tables/object_partition.hpp"
#include "starling/knn/tables/object_table.hpp"

namespace starling {

/// Throws std::invalid_argument unless there is a status for each row.
inline void check_statuses(std::size_t rows, std::size_t statuses) {
  check_usage(statuses == rows, "update: there are ", rows, " rows and ", statuses,
              " statuses; pass one status for each row");
}

/// Returns `accepted`, or why a row with the event time `time_us` is rejected.
constexpr UpdateStatus judge_time(std::int64_t time_us, std::int64_t time_us_max) {
  if (!is_time(time_us)) return UpdateStatus::time_out_of_range;
  return time_us > time_us_max ? UpdateStatus::future : UpdateStatus::accepted;
}

/// Returns `accepted`, or why the update is rejected. Checks only what does not depend on the
/// table.
template <class Row>
UpdateStatus judge(const Row& row, std::int64_t time_us_max) {
  if constexpr (std::same_as<Row, VectorUpdate>)
    if (row.has_value && std::isinf(row.value)) return UpdateStatus::value_infinite;
  return judge_time(row.time_us, time_us_max);
}

// Applies a row to the object's record, if the row is not late. The caller copies the components of
// a vector, and stages the slot.
template <class Row>
UpdateStatus ObjectTable::take(const Row& row, Slot slot, Totals& totals) {
  ObjectRecord& record = records_[slot];
  if (row.time_us < record.time_us) return UpdateStatus::late;
  record.time_us = row.time_us;
  if constexpr (std::same_as<Row, VectorUpdate>) {
    if (row.has_label) targets_[slot].label = row.label;
    if (row.has_value) targets_[slot].value = std::isnan(row.value) ? no_value : row.value;
  } else {
    record.position = row.position;
  }
  if (row.has_tags) {
    const TagClock* const clock = tag_clocks_.find(slot);
    const std::uint32_t owned = clock == nullptr ? 0 : clock->owned;
    record.tags = (record.tags & owned) | (row.tags & ~owned);
  }
  if (!starling::is_alive(record.generation)) {
    ++record.generation;
    ++totals.alive_count;
  }
  totals.oldest_time_us = std::min(totals.oldest_time_us, row.time_us);
  totals.newest_time_us = std::max(totals.newest_time_us.value_or(row.time_us), row.time_us);
  return UpdateStatus::accepted;
}

// Writes the likely slot of each row's object, or no_slot, into `likely`. Prefetches the records
// that the updates will touch. Producers often send their objects in the same order each time, and
// slots were given in that order. While the rows' objects have the slots `next`, `next` + 1 and so
// on, no lookup in a registry is needed. The record of a slot must be alive to match a row,
// because the record of a forgotten object may still have the row's id.
template <class Row>
void ObjectTable::look_up_ahead(std::span<const Row> rows, Slot next,
                                std::span<Slot> likely) const {
  const auto is_next = [&](ObjectId id) {
    return next < records_.size() && records_[next].id == id && is_alive(next);
  };
  std::size_t in_order = 0;
  for (; in_order < rows.size() && is_next(rows[in_order].id); ++next) likely[in_order++] = next;
  std::array<std::uint8_t, rows_at_once> partitions;
  for (std::size_t i = in_order; i < rows.size(); ++i)
    partitions[i] = static_cast<std::uint8_t>(partition_of(rows[i].id));
  std::array<std::uint64_t, rows_at_once> hashes;
  for (std::size_t i = in_order; i < rows.size(); ++i) {
    const auto& registry = partitions_[partitions[i]].registry;
    hashes[i] = registry.hash(rows[i].id);
    registry.prefetch(hashes[i]);
  }
  for (std::size_t i = in_order; i < rows.size(); ++i) {
    likely[i] = partitions_[partitions[i]].registry.likely_slot(hashes[i]);
    if (likely[i] == no_slot) continue;
    prefetch_to_write(&records_[likely[i]]);
    prefetch_to_write(&records_[likely[i]].staged_row);  // staged_row may be in a second cache line
  }
}

inline bool ObjectTable::is_staged(Slot slot, const Staging& staging) const {
  const std::uint32_t row = records_[slot].staged_row;
  return row < staging.objects.size() && row >= staging.taken_rows &&
         staging.objects[row].slot == slot;
}

// Writes the object's row, except for its slot, to the staged row that its record names. That row
// must have the object's slot already, because other threads may read the slot meanwhile to see
// whose row it is.
inline void ObjectTable::write_staged(Slot slot, Staging& staging) const {
  const std::size_t row = records_[slot].staged_row;
  write_row(slot, staging.objects[row]);
  if (options_.dimension == 0) return;
  std::ranges::copy(components_of(slot),
                    staging.object_components.data() + row * options_.dimension);
  staging.object_targets[row] = targets_[slot];
}

// Writes all members of the row except the slot.
inline void ObjectTable::write_row(Slot slot, ObjectRow& row) const {
  const ObjectRecord& record = records_[slot];
  row.generation = record.generation;
  row.tags = record.tags;
  row.position = record.position;
  row.time_us = record.time_us;
}

}  // namespace starling
