// SPDX-License-Identifier: Apache-2.0
// Copies the whole table of objects out and in: see ObjectTable::export_state.
#include <algorithm>
#include <array>

#include "starling/knn/base/usage.hpp"
#include "starling/knn/tables/object_partition.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/object_table_group.hpp"
#include "starling/knn/tables/object_table_rules.hpp"

namespace starling {
namespace {

constexpr std::size_t prefetch_records = 16;

}  // namespace

ObjectTableState ObjectTable::export_state() const {
  ObjectTableState state;
  std::vector<bool> is_free(records_.size());
  for (const Slot slot : free_slots_) {
    is_free[slot] = true;
    state.free_slots.push_back({slot, records_[slot].generation});
  }
  for (Slot slot = 0; slot < records_.size(); ++slot) {
    if (is_free[slot]) continue;
    ObjectTableState::Record& copy = state.records.emplace_back();
    copy.row.slot = slot;
    write_row(slot, copy.row);
    copy.id = records_[slot].id;
    if (options_.dimension > 0) {
      const auto from = components_.begin() + std::ptrdiff_t{slot} * options_.dimension;
      state.components.insert(state.components.end(), from, from + options_.dimension);
      state.targets.push_back(targets_[slot]);
    }
    if (const TagClock* const clock = tag_clocks_.find(slot)) {
      copy.tags_owned = clock->owned;
      copy.tags_owner = clock->owner;
      copy.tags_time_us = clock->time_us;
    }
    if (is_followed(slot)) copy.followers = *followers_.find(slot);
  }
  for (const ObjectPartition& partition : partitions_) partition.departures->append_to(state);
  state.newest_time_us = totals_.newest_time_us;
  return state;
}

void ObjectTable::reserve_registries(const ObjectTableState& state) {
  std::array<std::size_t, partition_count> counts{};
  for (const ObjectTableState::Record& record : state.records) ++counts[partition_of(record.id)];
  const auto slot_max = static_cast<Slot>(std::max<std::size_t>(records_.size(), 1) - 1);
  for (std::size_t i = 0; i < partition_count; ++i)
    partitions_[i].registry.reserve(counts[i], slot_max, records_);
}

void ObjectTable::import_state(const ObjectTableState& state, Staging& staging) {
  check_usage(records_.empty(), "import_state: the table has objects; import into a new one");
  records_.resize(state.records.size() + state.free_slots.size());
  if (options_.dimension > 0) {
    components_.resize(records_.size() * options_.dimension);
    targets_.resize(records_.size());
  }
  for (const auto& [slot, generation] : state.free_slots) {
    records_[slot].generation = generation;
    free_slots_.push_back(slot);
  }
  reserve_registries(state);
  reserve_staged(staging, state.records.size());
  staging.births.reserve(state.records.size());
  VectorsView components{state.components, std::max(1u, options_.dimension)};
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    if (i + prefetch_records < state.records.size()) {
      const ObjectId ahead = state.records[i + prefetch_records].id;
      const auto& registry = partitions_[partition_of(ahead)].registry;
      registry.prefetch(registry.hash(ahead));
    }
    const ObjectTableState::Record& copy = state.records[i];
    const ObjectRow& row = copy.row;
    records_[row.slot] = {copy.id, row.time_us, row.position, row.tags, row.generation, 0};
    partition_at(row.slot).registry.insert(copy.id, row.slot, records_);
    if (options_.dimension > 0) {
      std::ranges::copy(components.row(static_cast<VectorRow>(i)), components_of(row.slot).begin());
      targets_[row.slot] = state.targets[i];
    }
    if (copy.tags_time_us != TagClock{}.time_us)
      tag_clocks_.at(row.slot) = {copy.tags_owned, copy.tags_owner, copy.tags_time_us};
    if (copy.followers > 0) followers_.at(row.slot) = copy.followers;
    if (is_alive(row.slot)) {
      ++totals_.alive_count;
      totals_.oldest_time_us = std::min(totals_.oldest_time_us, row.time_us);
    }
    staging.births.push_back({row.slot, copy.id});
    stage(row.slot, staging);
  }
  for (const ObjectTableState::Tombstone& tombstone : state.tombstones)
    partition_at(tombstone.slot).departures->add(tombstone);
  for (const Slot slot : state.leavers) partition_at(slot).departures->leave(slot);
  totals_.newest_time_us = state.newest_time_us;
}

void ObjectTable::stage_forgotten(std::span<const ObjectRow> engine_objects, Staging& staging) {
  for (const ObjectRow& row : engine_objects)
    if (!is_alive(row.slot)) stage(row.slot, staging);
}

}  // namespace starling
