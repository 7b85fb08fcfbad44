// SPDX-License-Identifier: Apache-2.0
// Positions are updated in batches: the slots of a batch are looked up together, so that cache
// misses overlap. Each row is then applied by itself. A slot has one staged row, however often it
// changes. See object_table.hpp.
#include "starling/knn/tables/object_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/headroom.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/tables/object_registry.hpp"

namespace starling {
namespace {

constexpr std::int64_t time_limit_us = std::int64_t{1} << 61;
constexpr std::int64_t never_seen_us = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t rows_at_once = 64;  // looked up together, so that cache misses overlap

bool is_time_in_range(std::int64_t time_us) {
  return time_us >= -time_limit_us && time_us <= time_limit_us;
}

std::int64_t saturating_add(std::int64_t time_us, std::int64_t duration_us) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return time_us > most - duration_us ? most : time_us + duration_us;
}

void count(UpdateCounts& counts, UpdateStatus status) {
  switch (status) {
    case UpdateStatus::accepted:
      ++counts.accepted;
      return;
    case UpdateStatus::late:
      ++counts.late;
      return;
    default:
      ++counts.rejected;
      return;
  }
}

template <class Row, class Take>
UpdateCounts for_each_row(std::span<const Row> rows, std::span<UpdateStatus> statuses, Take take) {
  check_invariant(statuses.size() == rows.size(), "there is one status for each row");
  UpdateCounts counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    statuses[i] = take(rows[i]);
    count(counts, statuses[i]);
  }
  return counts;
}

}  // namespace

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
  }
  return "unknown";
}

ObjectTable::ObjectTable(const ObjectTableOptions& options)
    : options_(options),
      registry_(std::make_unique<ObjectRegistry<std::vector<Record>>>(options.hash_seed)) {}

ObjectTable::~ObjectTable() = default;

Slot ObjectTable::find(ObjectId id) const {
  return registry_->find(id, records_);
}

UpdateCounts ObjectTable::update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                                 std::span<UpdateStatus> statuses, Staging& staging) {
  check_invariant(statuses.size() == rows.size(), "there is one status for each row");
  check_invariant(options_.dimension == 0, "a vector space takes update_vectors, not update");
  UpdateCounts counts;
  std::array<Slot, rows_at_once> likely;
  Slot next = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
    const std::size_t end = std::min(begin + rows_at_once, rows.size());
    look_up_ahead(rows.subspan(begin, end - begin), next, likely, staging);
    next = likely[end - begin - 1] + 1;
    for (std::size_t i = begin; i < end; ++i) {
      statuses[i] = update_one(rows[i], likely[i - begin], time_us_max, staging);
      count(counts, statuses[i]);
    }
  }
  return counts;
}

// Writes the likely slot of each row's object, or no_slot, into `likely`. Prefetches the memory
// that the updates will touch. Producers often send their objects in the same order each time, and
// slots were given in that order. While the rows' objects have the slots `next`, `next` + 1 and so
// on, no lookup in the registry is needed. The record of a slot must be alive to match a row,
// because the record of a forgotten object may still have the row's id.
void ObjectTable::look_up_ahead(std::span<const ObjectUpdate> rows, Slot next,
                                std::span<Slot> likely, const Staging& staging) const {
  const auto is_next = [&](ObjectId id) {
    return next < records_.size() && records_[next].id == id && is_alive(next);
  };
  std::size_t in_order = 0;
  for (; in_order < rows.size() && is_next(rows[in_order].id); ++next) likely[in_order++] = next;
  std::array<std::uint64_t, rows_at_once> hashes;
  for (std::size_t i = in_order; i < rows.size(); ++i) {
    hashes[i] = registry_->hash(rows[i].id);
    registry_->prefetch(hashes[i]);
  }
  for (std::size_t i = in_order; i < rows.size(); ++i) {
    likely[i] = registry_->likely_slot(hashes[i]);
    if (likely[i] == no_slot) continue;
    prefetch_to_write(&records_[likely[i]]);
    prefetch_to_write(&records_[likely[i]].staged_row);  // staged_row may be in a second cache line
  }
  constexpr std::size_t rows_a_line = 64 / sizeof(ObjectRow);
  const std::size_t staged = staging.objects.size();
  const std::size_t room = std::min(rows.size(), staging.objects.capacity() - staged);
  for (std::size_t i = 0; i < room; i += rows_a_line)
    prefetch_to_write(staging.objects.data() + staged + i);
}

UpdateCounts ObjectTable::update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                                         std::int64_t time_us_max, std::span<UpdateStatus> statuses,
                                         Staging& staging) {
  check_invariant(options_.dimension != 0 && components.dimension == options_.dimension &&
                      components.rows() == rows.size(),
                  "there is one row of the space's dimension for each object");
  VectorRow number = 0;
  return for_each_row(rows, statuses, [&](const VectorUpdate& row) {
    return update_vector_one(row, components.row(number++), time_us_max, staging);
  });
}

UpdateCounts ObjectTable::update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                                      std::span<UpdateStatus> statuses, Staging& staging) {
  return for_each_row(rows, statuses,
                      [&](const auto& row) { return update_tags_one(row, time_us_max, staging); });
}

UpdateCounts ObjectTable::remove(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                                 std::span<UpdateStatus> statuses, Staging& staging) {
  return for_each_row(rows, statuses,
                      [&](const auto& row) { return remove_one(row, time_us_max, staging); });
}

UpdateStatus ObjectTable::update_one(const ObjectUpdate& row, Slot likely, std::int64_t time_us_max,
                                     Staging& staging) {
  Slot slot = no_slot;
  const UpdateStatus status = take(row, likely, time_us_max, staging, slot);
  if (status == UpdateStatus::accepted) stage(slot, staging);
  return status;
}

UpdateStatus ObjectTable::update_vector_one(const VectorUpdate& row,
                                            std::span<const float> components,
                                            std::int64_t time_us_max, Staging& staging) {
  const ObjectUpdate update{.id = row.id,
                            .time_us = row.time_us,
                            .position = {},
                            .tags = row.tags,
                            .has_tags = row.has_tags};
  Slot slot = no_slot;
  const UpdateStatus status = take(update, no_slot, time_us_max, staging, slot);
  if (status != UpdateStatus::accepted) return status;
  std::ranges::copy(components, components_of(slot).begin());
  if (row.has_label) labels_[slot] = row.label;
  stage(slot, staging);
  return status;
}

// Applies an update to the object's record. The caller stages the slot if the row is accepted.
UpdateStatus ObjectTable::take(const ObjectUpdate& row, Slot likely, std::int64_t time_us_max,
                               Staging& staging, Slot& slot) {
  if (!is_time_in_range(row.time_us)) return UpdateStatus::time_out_of_range;
  if (row.time_us > time_us_max) return UpdateStatus::future;
  slot = likely;
  if (slot == no_slot || records_[slot].id != row.id) slot = registry_->find(row.id, records_);
  if (slot == no_slot) {
    slot = add(row.id, staging);
    if (slot == no_slot) return UpdateStatus::too_many_objects;
  }
  Record& record = records_[slot];
  if (row.time_us < record.time_us) return UpdateStatus::late;
  record.time_us = row.time_us;
  record.position = row.position;
  if (row.has_tags) {
    const std::uint32_t owned = slot < tag_clocks_.size() ? tag_clocks_[slot].owned : 0;
    record.tags = (record.tags & owned) | (row.tags & ~owned);
  }
  if (!starling::is_alive(record.generation)) {
    ++record.generation;
    ++alive_count_;
  }
  oldest_time_us_ = std::min(oldest_time_us_, row.time_us);
  newest_time_us_ = std::max(newest_time_us_.value_or(row.time_us), row.time_us);
  return UpdateStatus::accepted;
}

UpdateStatus ObjectTable::update_tags_one(const TagUpdate& row, std::int64_t time_us_max,
                                          Staging& staging) {
  if (!is_time_in_range(row.time_us)) return UpdateStatus::time_out_of_range;
  if (row.time_us > time_us_max) return UpdateStatus::future;
  const Slot slot = registry_->find(row.id, records_);
  if (slot == no_slot || records_[slot].time_us == never_seen_us)
    return UpdateStatus::unknown_object;
  TagClock& clock = tag_clock(slot);
  if (row.time_us < clock.time_us) return UpdateStatus::late;
  clock.time_us = row.time_us;
  clock.owned |= row.set | row.clear;
  Record& record = records_[slot];
  record.tags = (record.tags & ~row.clear) | row.set;
  if (is_alive(slot)) stage(slot, staging);
  return UpdateStatus::accepted;
}

UpdateStatus ObjectTable::remove_one(const ObjectRemoval& row, std::int64_t time_us_max,
                                     Staging& staging) {
  if (!is_time_in_range(row.time_us)) return UpdateStatus::time_out_of_range;
  if (row.time_us > time_us_max) return UpdateStatus::future;
  Slot slot = registry_->find(row.id, records_);
  if (slot == no_slot) {
    slot = add(row.id, staging);
    if (slot == no_slot) return UpdateStatus::too_many_objects;
  }
  Record& record = records_[slot];
  if (row.time_us < record.time_us) return UpdateStatus::late;
  record.time_us = row.time_us;
  record.tags = 0;
  if (options_.dimension > 0) labels_[slot] = no_label;
  TagClock& clock = tag_clock(slot);
  clock = {0, std::max(clock.time_us, row.time_us)};
  if (is_alive(slot)) {
    kill(slot, staging);
  } else {
    leavers_.insert(slot);  // the tombstone of this removal replaces an older tombstone
  }
  return UpdateStatus::accepted;
}

void ObjectTable::prepare_tick(std::int64_t tau_us, Staging& staging) {
  const std::int64_t oldest_us = oldest_time_us(tau_us, options_.object_ttl_us);
  if (oldest_time_us_ < oldest_us) {
    oldest_time_us_ = std::numeric_limits<std::int64_t>::max();
    for (Slot slot = 0; slot < records_.size(); ++slot) {
      if (!is_alive(slot)) continue;
      if (records_[slot].time_us < oldest_us)
        kill(slot, staging);
      else
        oldest_time_us_ = std::min(oldest_time_us_, records_[slot].time_us);
    }
  }
  bury_leavers(tau_us);
  while (!tombstones_.empty() && tombstones_.begin()->forget_at_us <= tau_us) {
    const Slot slot = tombstones_.begin()->slot;
    tombstones_.erase(tombstones_.begin());
    forget_at_us_.erase(slot);
    if (!is_alive(slot)) forget(slot);
  }
}

void ObjectTable::bury_leavers(std::int64_t tau_us) {
  const std::int64_t forget_at_us = saturating_add(tau_us, options_.tombstone_ttl_us);
  for (const Slot slot : leavers_) {
    if (is_alive(slot)) continue;
    const auto [known, is_new] = forget_at_us_.try_emplace(slot, forget_at_us);
    if (!is_new) tombstones_.erase({known->second, slot});
    known->second = forget_at_us;
    tombstones_.insert(tombstones_.end(), {forget_at_us, slot});
  }
  leavers_.clear();
}

Slot ObjectTable::follow(ObjectId id, Staging& staging) {
  Slot slot = registry_->find(id, records_);
  if (slot == no_slot) slot = add(id, staging);
  if (slot != no_slot) ++followers_[slot];
  return slot;
}

void ObjectTable::unfollow(Slot slot) {
  const auto it = followers_.find(slot);
  check_invariant(it != followers_.end(), "unfollow is called only for a followed object");
  if (--it->second > 0) return;
  followers_.erase(it);
  // If the slot already has a tombstone, the tombstone keeps its time.
  if (!is_alive(slot) && !forget_at_us_.contains(slot)) leavers_.insert(slot);
}

std::uint64_t ObjectTable::bytes_used() const {
  return records_.capacity() * sizeof(Record) + registry_->bytes_used() +
         tag_clocks_.capacity() * sizeof(TagClock) + components_.capacity() * sizeof(float) +
         labels_.capacity() * sizeof(Label);
}

Slot ObjectTable::add(ObjectId id, Staging& staging) {
  Slot slot = no_slot;
  if (!free_slots_.empty()) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  } else {
    if (records_.size() >= options_.objects_max) return no_slot;
    slot = static_cast<Slot>(records_.size());
    reserve_with_headroom(records_, records_.size() + 1);
    if (options_.dimension > 0) {
      const std::size_t slots = records_.size() + 1;
      // Grows by a quarter, because it would be slow to copy this large array often.
      resize_with_headroom<4>(components_, slots * options_.dimension);
      resize_with_headroom(labels_, slots, no_label);
    }
    records_.emplace_back();
  }
  Record& record = records_[slot];
  record = {.id = id,
            .time_us = never_seen_us,
            .position = {},
            .tags = 0,
            .generation = record.generation,
            .staged_row = record.staged_row};
  if (options_.dimension > 0) labels_[slot] = no_label;
  registry_->insert(id, slot, records_);
  staging.births.push_back({slot, id});
  return slot;
}

void ObjectTable::kill(Slot slot, Staging& staging) {
  ++records_[slot].generation;
  --alive_count_;
  leavers_.insert(slot);
  stage(slot, staging);
}

void ObjectTable::write_row(Slot slot, ObjectRow& row) const {
  const Record& record = records_[slot];
  row.slot = slot;
  row.generation = record.generation;
  row.tags = record.tags;
  row.position = record.position;
  row.time_us = record.time_us;
}

std::span<float> ObjectTable::components_of(Slot slot) {
  return std::span(components_).subspan(std::size_t{slot} * options_.dimension, options_.dimension);
}

void ObjectTable::stage(Slot slot, Staging& staging) {
  Record& record = records_[slot];
  const bool is_staged =
      record.staged_row < staging.objects.size() && staging.objects[record.staged_row].slot == slot;
  const std::uint32_t dimension = options_.dimension;
  if (!is_staged) {
    const std::size_t rows = staging.objects.size() + 1;
    if (dimension > 0) {
      staging.object_components.resize(rows * dimension);
      staging.object_labels.resize(rows);
    }
    staging.objects.emplace_back();
    record.staged_row = static_cast<std::uint32_t>(rows - 1);
  }
  write_row(slot, staging.objects[record.staged_row]);
  if (dimension == 0) return;
  std::ranges::copy(components_of(slot),
                    staging.object_components.data() + std::size_t{record.staged_row} * dimension);
  staging.object_labels[record.staged_row] = labels_[slot];
}

void ObjectTable::forget(Slot slot) {
  Record& record = records_[slot];
  record.generation += 2;
  record.time_us = never_seen_us;
  record.tags = 0;
  if (options_.dimension > 0) labels_[slot] = no_label;
  if (slot < tag_clocks_.size()) tag_clocks_[slot] = {};
  if (followers_.contains(slot)) return;  // a followed object keeps only its slot
  registry_->erase(record.id, records_);
  free_slots_.push_back(slot);
}

ObjectTable::TagClock& ObjectTable::tag_clock(Slot slot) {
  if (slot >= tag_clocks_.size()) tag_clocks_.resize(records_.size());
  return tag_clocks_[slot];
}

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
    write_row(slot, copy.row);
    copy.id = records_[slot].id;
    if (options_.dimension > 0) {
      const auto from = components_.begin() + std::ptrdiff_t{slot} * options_.dimension;
      state.components.insert(state.components.end(), from, from + options_.dimension);
      state.labels.push_back(labels_[slot]);
    }
    if (slot < tag_clocks_.size()) {
      copy.tags_owned = tag_clocks_[slot].owned;
      copy.tags_time_us = tag_clocks_[slot].time_us;
    }
    if (const auto it = followers_.find(slot); it != followers_.end()) copy.followers = it->second;
  }
  state.tombstones.assign(tombstones_.begin(), tombstones_.end());
  state.leavers.assign(leavers_.begin(), leavers_.end());
  state.newest_time_us = newest_time_us_;
  return state;
}

void ObjectTable::import_state(const ObjectTableState& state, Staging& staging) {
  check_invariant(records_.empty(), "a state is imported only into an empty table");
  records_.resize(state.records.size() + state.free_slots.size());
  if (options_.dimension > 0) {
    components_.resize(records_.size() * options_.dimension);
    labels_.resize(records_.size(), no_label);
  }
  for (const auto& [slot, generation] : state.free_slots) {
    records_[slot].generation = generation;
    free_slots_.push_back(slot);
  }
  VectorsView components{state.components, std::max(1u, options_.dimension)};
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    const ObjectTableState::Record& copy = state.records[i];
    const ObjectRow& row = copy.row;
    records_[row.slot] = {copy.id, row.time_us, row.position, row.tags, row.generation, 0};
    registry_->insert(copy.id, row.slot, records_);
    if (options_.dimension > 0) {
      std::ranges::copy(components.row(static_cast<VectorRow>(i)), components_of(row.slot).begin());
      labels_[row.slot] = state.labels[i];
    }
    if (copy.tags_time_us != TagClock{}.time_us)
      tag_clock(row.slot) = {copy.tags_owned, copy.tags_time_us};
    if (copy.followers > 0) followers_[row.slot] = copy.followers;
    if (is_alive(row.slot)) {
      ++alive_count_;
      oldest_time_us_ = std::min(oldest_time_us_, row.time_us);
    }
    staging.births.push_back({row.slot, copy.id});
    stage(row.slot, staging);
  }
  for (const Tombstone& tombstone : state.tombstones) {
    tombstones_.insert(tombstone);
    forget_at_us_[tombstone.slot] = tombstone.forget_at_us;
  }
  leavers_.insert(state.leavers.begin(), state.leavers.end());
  newest_time_us_ = state.newest_time_us;
}

}  // namespace starling
