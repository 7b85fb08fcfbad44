// SPDX-License-Identifier: Apache-2.0
// Positions are updated in batches: the slots of a batch are looked up together, so that cache
// misses overlap. Each row is then applied by itself. A slot has one staged row, however often it
// changes. See object_table.hpp.
#include "starling/knn/tables/object_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

#include "starling/knn/base/lazy_memory.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/knn/tables/object_partition.hpp"
#include "starling/knn/tables/object_table_group.hpp"
#include "starling/knn/tables/object_table_rules.hpp"

namespace starling {
namespace {

constexpr std::int64_t never_seen_us = std::numeric_limits<std::int64_t>::min();

template <class Row, class Take>
UpdateCounts for_each_row(std::span<const Row> rows, std::span<UpdateStatus> statuses, Take take) {
  check_statuses(rows.size(), statuses.size());
  UpdateCounts counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    statuses[i] = take(rows[i]);
    counts.add(statuses[i]);
  }
  return counts;
}

}  // namespace

void UpdateCounts::add(UpdateStatus status) {
  switch (status) {
    case UpdateStatus::accepted:
      ++accepted;
      return;
    case UpdateStatus::late:
      ++late;
      return;
    default:
      ++rejected;
      return;
  }
}

UpdateCounts counts_of(std::span<const UpdateStatus> statuses) {
  UpdateCounts counts;
  for (const UpdateStatus status : statuses) counts.add(status);
  return counts;
}

std::string_view to_string(UpdateStatus status) {
  switch (status) {
    case UpdateStatus::accepted:
      return "accepted";
    case UpdateStatus::late:
      return "late";
    case UpdateStatus::future:
      return "future";
    case UpdateStatus::time_out_of_range:
      return "time out of range";
    case UpdateStatus::unknown_object:
      return "unknown object";
    case UpdateStatus::too_many_objects:
      return "too many objects";
    case UpdateStatus::value_infinite:
      return "value infinite";
    case UpdateStatus::not_owner:
      return "the tags have another owner";
  }
  return "unknown";
}

ObjectTable::ObjectTable(const ObjectTableOptions& options)
    : options_(options),
      records_(lazy_memory()),
      components_(lazy_memory()),
      targets_(lazy_memory()),
      free_slots_(lazy_memory()),
      group_(std::make_unique<Group>()) {
  partitions_.reserve(partition_count);
  for (unsigned i = 0; i < partition_count; ++i) partitions_.emplace_back(options.hash_seed);
}

ObjectTable::~ObjectTable() = default;

Slot ObjectTable::find(ObjectId id) const {
  return partitions_[partition_of(id)].registry.find(id, records_);
}

bool ObjectTable::is_alive(Slot slot) const {
  return slot < records_.size() && starling::is_alive(records_[slot].generation);
}

const ObjectRecord& ObjectTable::record_at(Slot slot) const {
  check_usage(slot < records_.size(), "no object has the slot ", slot,
              "; pass a slot that find returned, unless that was no_slot");
  return records_[slot];
}

ObjectId ObjectTable::id_at(Slot slot) const {
  return record_at(slot).id;
}

LiveObject ObjectTable::object_at(Slot slot) const {
  const ObjectRecord& record = record_at(slot);
  return {record.id, record.time_us, record.position, record.tags};
}

Slot ObjectTable::slot_end() const {
  return static_cast<Slot>(records_.size());
}

std::uint64_t ObjectTable::known_count() const {
  return records_.size() - free_slots_.size();
}

void ObjectTable::check_space() const {
  check_usage(options_.dimension == 0,
              "update: the space has vectors; pass them to update_vectors");
}

void ObjectTable::check_vectors(std::size_t rows, VectorsView components) const {
  check_usage(options_.dimension != 0,
              "update_vectors: the space has positions; pass them to update");
  check_usage(components.dimension == options_.dimension &&
                  components.components.size() == rows * options_.dimension,
              "update_vectors: ", rows, " rows need ", rows, " vectors of ", options_.dimension,
              " components; there are ", components.components.size(),
              " components, of vectors of ", components.dimension);
}

UpdateCounts ObjectTable::update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                                 std::span<UpdateStatus> statuses, Staging& staging) {
  check_space();
  return update_in_order(rows, statuses, staging, [&](std::size_t i, Slot likely) {
    return update_one(rows[i], likely, time_us_max, staging);
  });
}

UpdateCounts ObjectTable::update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                                         std::int64_t time_us_max, std::span<UpdateStatus> statuses,
                                         Staging& staging) {
  check_vectors(rows.size(), components);
  return update_in_order(rows, statuses, staging, [&](std::size_t i, Slot likely) {
    return update_vector_one(rows[i], components.row(static_cast<VectorRow>(i)), likely,
                             time_us_max, staging);
  });
}

// Calls update(i, likely slot) for each row.
template <class Row, class Update>
UpdateCounts ObjectTable::update_in_order(std::span<const Row> rows,
                                          std::span<UpdateStatus> statuses, Staging& staging,
                                          Update update) {
  check_statuses(rows.size(), statuses.size());
  // After this call, a changed object can be staged without an allocation.
  reserve_staged(staging, staging.objects.size() + rows.size());
  UpdateCounts counts;
  std::array<Slot, rows_at_once> likely;
  Slot next = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
    const std::size_t end = std::min(begin + rows_at_once, rows.size());
    look_up_ahead(rows.subspan(begin, end - begin), next, likely);
    prefetch_staged(end - begin, staging);
    prefetch_staged(std::span(likely).first(end - begin), staging);
    next = likely[end - begin - 1] + 1;
    for (std::size_t i = begin; i < end; ++i) {
      statuses[i] = update(i, likely[i - begin]);
      counts.add(statuses[i]);
    }
  }
  return counts;
}

void ObjectTable::prefetch_staged(std::size_t rows, const Staging& staging) const {
  constexpr std::size_t rows_a_line = 64 / sizeof(ObjectRow);
  const std::size_t staged = staging.objects.size();
  const std::size_t room = std::min(rows, staging.objects.capacity() - staged);
  for (std::size_t i = 0; i < room; i += rows_a_line)
    prefetch_to_write(staging.objects.data() + staged + i);
}

// Prefetches the staged rows that objects have already, if they are too many for a cache.
void ObjectTable::prefetch_staged(std::span<const Slot> slots, const Staging& staging) const {
  constexpr std::size_t cached_rows = 1u << 16;
  if (staging.objects.size() < cached_rows) return;
  for (const Slot slot : slots) {
    if (slot == no_slot) continue;
    const std::uint32_t row = records_[slot].staged_row;
    if (row < staging.objects.size()) prefetch_to_write(staging.objects.data() + row);
  }
}

UpdateCounts ObjectTable::update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                                      std::span<UpdateStatus> statuses, Staging& staging,
                                      const TagOwner& owner) {
  return for_each_row(rows, statuses, [&](const auto& row) {
    return update_tags_one(row, time_us_max, owner, staging);
  });
}

UpdateCounts ObjectTable::remove(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                                 std::span<UpdateStatus> statuses, Staging& staging) {
  return for_each_row(rows, statuses,
                      [&](const auto& row) { return remove_one(row, time_us_max, staging); });
}

UpdateStatus ObjectTable::update_one(const ObjectUpdate& row, Slot likely, std::int64_t time_us_max,
                                     Staging& staging) {
  Slot slot = no_slot;
  UpdateStatus status = find_or_add(row, likely, time_us_max, staging, slot);
  if (status == UpdateStatus::accepted) status = take(row, slot, totals_);
  if (status == UpdateStatus::accepted) stage(slot, staging);
  return status;
}

UpdateStatus ObjectTable::update_vector_one(const VectorUpdate& row,
                                            std::span<const float> components, Slot likely,
                                            std::int64_t time_us_max, Staging& staging) {
  Slot slot = no_slot;
  UpdateStatus status = find_or_add(row, likely, time_us_max, staging, slot);
  if (status == UpdateStatus::accepted) status = take(row, slot, totals_);
  if (status != UpdateStatus::accepted) return status;
  std::ranges::copy(components, components_of(slot).begin());
  stage(slot, staging);
  return status;
}

// Finds the slot of the row's object, or adds the object.
template <class Row>
UpdateStatus ObjectTable::find_or_add(const Row& row, Slot likely, std::int64_t time_us_max,
                                      Staging& staging, Slot& slot) {
  if (const UpdateStatus status = judge(row, time_us_max); status != UpdateStatus::accepted)
    return status;
  slot = likely;
  if (slot == no_slot || records_[slot].id != row.id) slot = find(row.id);
  if (slot == no_slot) slot = add(row.id, staging);
  return slot == no_slot ? UpdateStatus::too_many_objects : UpdateStatus::accepted;
}

UpdateStatus ObjectTable::update_tags_one(const TagUpdate& row, std::int64_t time_us_max,
                                          const TagOwner& owner, Staging& staging) {
  if (const UpdateStatus status = judge_time(row.time_us, time_us_max);
      status != UpdateStatus::accepted)
    return status;
  const Slot slot = find(row.id);
  if (slot == no_slot || records_[slot].time_us == never_seen_us)
    return UpdateStatus::unknown_object;
  TagClock& clock = tag_clocks_.at(slot);
  if (clock.owned != 0 && clock.owner != owner.owner && !owner.may_change_others)
    return UpdateStatus::not_owner;
  if (row.time_us < clock.time_us) return UpdateStatus::late;
  if (clock.owned == 0) clock.owner = owner.owner;
  clock.time_us = row.time_us;
  clock.owned |= row.set | row.clear;
  ObjectRecord& record = records_[slot];
  record.tags = (record.tags & ~row.clear) | row.set;
  if (is_alive(slot)) stage(slot, staging);
  return UpdateStatus::accepted;
}

UpdateStatus ObjectTable::remove_one(const ObjectRemoval& row, std::int64_t time_us_max,
                                     Staging& staging) {
  if (const UpdateStatus status = judge_time(row.time_us, time_us_max);
      status != UpdateStatus::accepted)
    return status;
  Slot slot = find(row.id);
  if (slot == no_slot) {
    slot = add(row.id, staging);
    if (slot == no_slot) return UpdateStatus::too_many_objects;
  }
  ObjectRecord& record = records_[slot];
  if (row.time_us < record.time_us) return UpdateStatus::late;
  record.time_us = row.time_us;
  record.tags = 0;
  if (options_.dimension > 0) targets_[slot] = {};
  TagClock& clock = tag_clocks_.at(slot);
  clock = {0, 0, std::max(clock.time_us, row.time_us)};
  if (is_alive(slot)) {
    kill(slot, staging);
  } else {
    partition_at(slot).departures->leave(
        slot);  // the tombstone of this removal replaces an older tombstone
  }
  return UpdateStatus::accepted;
}

bool ObjectTable::prepare_tick(std::int64_t tau_us, std::size_t objects_max, Staging& staging) {
  if (!expire_some(oldest_time_us(tau_us, options_.object_ttl_us), objects_max, staging))
    return false;
  const std::int64_t forget_at_us = saturating_add(tau_us, options_.tombstone_ttl_us);
  for (unsigned& partition = preparing_.partition; partition < partition_count; ++partition) {
    Departures& departures = *partitions_[partition].departures;
    const bool is_done = departures.bury(forget_at_us, objects_max, [&](Slot slot) {
      return !is_alive(slot);
    }) && departures.forget_due(tau_us, objects_max, [&](Slot slot) {
      if (!is_alive(slot)) forget(slot);
    });
    if (!is_done) return false;
  }
  preparing_ = {};
  return true;
}

/// Kills the objects whose event time is before `oldest_us`. Subtracts the number of records that
/// it reads from `objects_max`. Returns whether it has read all records.
bool ObjectTable::expire_some(std::int64_t oldest_us, std::size_t& objects_max, Staging& staging) {
  if (totals_.oldest_time_us >= oldest_us) return true;
  for (Slot& slot = preparing_.slot; slot < records_.size(); ++slot, --objects_max) {
    if (objects_max == 0) return false;
    if (!is_alive(slot)) continue;
    if (records_[slot].time_us < oldest_us)
      kill(slot, staging);
    else
      preparing_.oldest_time_us = std::min(preparing_.oldest_time_us, records_[slot].time_us);
  }
  totals_.oldest_time_us = preparing_.oldest_time_us;
  return true;
}

Slot ObjectTable::follow(ObjectId id, Staging& staging) {
  Slot slot = find(id);
  if (slot == no_slot) slot = add(id, staging);
  if (slot != no_slot) ++followers_.at(slot);
  return slot;
}

void ObjectTable::unfollow(Slot slot) {
  check_usage(is_followed(slot), "unfollow: nothing follows the object in the slot ", slot);
  if (--followers_.at(slot) > 0) return;
  // If the slot already has a tombstone, the tombstone keeps its time.
  Departures& departures = *partition_at(slot).departures;
  if (!is_alive(slot) && !departures.has_tombstone(slot)) departures.leave(slot);
}

std::uint64_t ObjectTable::bytes_used() const {
  std::uint64_t registry_bytes = 0;
  for (const ObjectPartition& partition : partitions_)
    registry_bytes += partition.registry.bytes_used();
  return records_.size() * sizeof(ObjectRecord) + registry_bytes + tag_clocks_.bytes_used() +
         components_.size() * sizeof(float) + targets_.size() * sizeof(Targets);
}

std::uint64_t ObjectTable::largest_copied_bytes() const {
  if (records_.capacity() >= options_.objects_max) return 0;
  return std::max({records_.size() * sizeof(ObjectRecord), components_.size() * sizeof(float),
                   targets_.size() * sizeof(Targets)});
}

// Returns no_slot if the table is full or if memory runs out; the table is then unchanged.
Slot ObjectTable::add(ObjectId id, Staging& staging) {
  const bool is_reused = !free_slots_.empty();
  const std::size_t slots = records_.size() + (is_reused ? 0 : 1);
  if (!is_reused && (!may_grow_ || records_.size() >= options_.objects_max)) return no_slot;
  const Slot slot = is_reused ? free_slots_.back() : static_cast<Slot>(records_.size());
  try {
    reserve_room<2>(staging.births, staging.births.size() + 1, options_.objects_max);
    reserve_room<32>(records_, slots, options_.objects_max);
    if (options_.dimension > 0) {
      // Grows by a quarter, because it would be slow to copy this large array often.
      reserve_room<4>(components_, slots * options_.dimension,
                      options_.objects_max * options_.dimension);
      reserve_room<32>(targets_, slots, options_.objects_max);
      components_.resize(slots * options_.dimension);
      targets_.resize(slots);
    }
    // From here on, only the registry may run out of memory, and it then changes nothing.
    if (!is_reused) records_.emplace_back();
    ObjectRecord& record = records_[slot];
    record = {.id = id,
              .time_us = never_seen_us,
              .position = {},
              .tags = 0,
              .generation = record.generation,
              .staged_row = record.staged_row};
    partition_at(slot).registry.insert(id, slot, records_);
  } catch (const std::bad_alloc&) {
    if (!is_reused && records_.size() == slots) records_.pop_back();
    return no_slot;
  }
  if (is_reused) free_slots_.pop_back();
  if (options_.dimension > 0) targets_[slot] = {};
  staging.births.push_back({slot, id});
  return slot;
}

void ObjectTable::kill(Slot slot, Staging& staging) {
  ++records_[slot].generation;
  --totals_.alive_count;
  partition_at(slot).departures->leave(slot);
  stage(slot, staging);
}

std::span<float> ObjectTable::components_of(Slot slot) {
  return std::span(components_).subspan(std::size_t{slot} * options_.dimension, options_.dimension);
}

std::span<const float> ObjectTable::components_of(Slot slot) const {
  return std::span(components_).subspan(std::size_t{slot} * options_.dimension, options_.dimension);
}

// Writes the object's row into the staging half. Replaces the row that the object has there, or
// appends a row.
void ObjectTable::stage(Slot slot, Staging& staging) {
  ObjectRecord& record = records_[slot];
  if (!is_staged(slot, staging)) {
    record.staged_row = static_cast<std::uint32_t>(staging.objects.size());
    reserve_staged(staging, staging.objects.size() + 1);
    staging.objects.emplace_back().slot = slot;
    if (options_.dimension > 0) resize_columns(staging);
  }
  write_staged(slot, staging);
}

// Reserves capacity for `rows` staged objects in all.
void ObjectTable::reserve_staged(Staging& staging, std::size_t rows) const {
  reserve_room<2>(staging.objects, rows, options_.objects_max);
  if (options_.dimension == 0) return;
  reserve_room<2>(staging.object_components, rows * options_.dimension,
                  options_.objects_max * options_.dimension);
  reserve_room<2>(staging.object_targets, rows, options_.objects_max);
}

// Grows the vectors and targets to the number of rows. New elements are not initialized.
void ObjectTable::resize_columns(Staging& staging) const {
  staging.object_components.resize(staging.objects.size() * options_.dimension);
  staging.object_targets.resize(staging.objects.size());
}

void ObjectTable::forget(Slot slot) {
  ObjectRecord& record = records_[slot];
  record.generation += 2;
  record.time_us = never_seen_us;
  record.tags = 0;
  if (options_.dimension > 0) targets_[slot] = {};
  if (tag_clocks_.find(slot) != nullptr) tag_clocks_.at(slot) = {};
  if (is_followed(slot)) return;  // a followed object keeps only its slot
  partition_at(slot).registry.erase(record.id, records_);
  reserve_room<2>(free_slots_, free_slots_.size() + 1, options_.objects_max);
  free_slots_.push_back(slot);
}

ObjectPartition& ObjectTable::partition_at(Slot slot) {
  return partitions_[partition_of(records_[slot].id)];
}

}  // namespace starling
