// SPDX-License-Identifier: Apache-2.0
// The authoritative table of objects. It applies the rules for event times, tags, tombstones and
// expiry; tags have their own event time. The table writes changed rows into the engine's staging
// half. Processor owns the table.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

template <class Records>
class ObjectRegistry;

/// The position of an object at a time. `tags` is used only if `has_tags` is true, and only for
/// bits that no TagUpdate has set or cleared.
struct ObjectUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  LatticePoint position{};
  std::uint32_t tags = 0;
  bool has_tags = false;
};

/// As ObjectUpdate, in a vector space; the components are passed separately. `label` is used only
/// if `has_label` is true; no_label removes a label.
struct VectorUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  Label label = no_label;
  std::uint32_t tags = 0;
  bool has_tags = false;
  bool has_label = false;
};

/// Sets and clears tag bits. A bit that is in both `set` and `clear` is set. Afterwards the tags in
/// an ObjectUpdate or VectorUpdate do not change these bits.
struct TagUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  std::uint32_t set = 0;
  std::uint32_t clear = 0;
};

struct ObjectRemoval {
  ObjectId id{};
  std::int64_t time_us = 0;
};

enum class UpdateStatus : std::uint8_t {
  accepted,
  late,               ///< older than the stored time; dropped
  future,             ///< later than the latest time allowed
  time_out_of_range,  ///< beyond +-2^61 us
  unknown_object,     ///< tags for an object that was never seen or is forgotten
  too_many_objects,   ///< the table is at its limit
};

std::string_view to_string(UpdateStatus status);

struct UpdateCounts {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;  ///< rows with any other status
};

struct ObjectTableOptions {
  static constexpr std::int64_t never_us = std::numeric_limits<std::int64_t>::max();

  std::uint64_t objects_max = 1u << 27;   ///< objects alive, tombstones and followed ids together
  std::int64_t object_ttl_us = never_us;  ///< an object expires when tau - time exceeds this
  /// How long a tombstone is kept, measured by tau.
  std::int64_t tombstone_ttl_us = 3'600'000'000;
  std::uint64_t hash_seed = 0;  ///< never changes a result
  std::uint32_t dimension = 0;  ///< of a vector space, else 0; Processor sets it
};

/// The whole table, for export and import.
struct ObjectTableState {
  struct Record {
    ObjectRow row;
    ObjectId id{};
    std::uint32_t tags_owned = 0;
    std::int64_t tags_time_us = std::numeric_limits<std::int64_t>::min();
    std::uint32_t followers = 0;
  };
  struct FreeSlot {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  struct Tombstone {
    std::int64_t forget_at_us = 0;
    Slot slot = no_slot;
    auto operator<=>(const Tombstone&) const = default;
  };
  std::vector<Record> records;
  std::vector<FreeSlot> free_slots;  ///< the last is used first
  std::vector<Tombstone> tombstones;
  std::vector<Slot> leavers;
  std::optional<std::int64_t> newest_time_us;

  // In a vector space, one row and one label for each of `records`; otherwise empty.
  std::vector<float> components;
  std::vector<Label> labels;
};

/// The table of objects, which finds an object by id or by slot. Programs change the table through
/// Processor::update and similar functions. Example: examples/own_clock.cpp
///
///     processor.update({&row, 1}, tau_us, {&status, 1});
class ObjectTable {
 public:
  explicit ObjectTable(const ObjectTableOptions& options);
  ~ObjectTable();

  /// Applies the rows in order; at equal times the later row wins. Rows with a time after
  /// `time_us_max` are rejected. `statuses` has one entry for each row.
  UpdateCounts update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses, Staging& staging);
  /// As update, in a vector space. `components` has one row for each of `rows`, prepared for the
  /// metric of the space.
  UpdateCounts update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                              std::int64_t time_us_max, std::span<UpdateStatus> statuses,
                              Staging& staging);
  UpdateCounts update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                           std::span<UpdateStatus> statuses, Staging& staging);
  /// Removing an unknown object also leaves a tombstone, because its updates may still arrive.
  UpdateCounts remove(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses, Staging& staging);

  /// Stages the objects that expire at `tau_us` and forgets old tombstones. Call right before the
  /// engine swaps its halves.
  ///
  /// prepare_tick reads every record if the object with the oldest known event time may have
  /// expired. While all objects keep sending updates, this happens about once in object_ttl_us.
  /// While objects stop sending one after another, it happens in each tick. An index by time would
  /// cost more, because every update would have to change the index.
  void prepare_tick(std::int64_t tau_us, Staging& staging);

  /// Returns the slot of a followed object. Adds an unknown object; returns no_slot if the table is
  /// full. The object keeps the slot until unfollow has been called once for each call of follow.
  Slot follow(ObjectId id, Staging& staging);
  void unfollow(Slot slot);

  /// Returns the slot of an id, or no_slot.
  Slot find(ObjectId id) const;
  bool is_alive(Slot slot) const { return starling::is_alive(records_[slot].generation); }
  std::uint64_t alive_count() const { return alive_count_; }
  /// Returns the number that objects_max limits: objects alive, tombstones and followed ids.
  std::uint64_t known_count() const { return records_.size() - free_slots_.size(); }
  /// Returns the newest event time of all accepted positions; std::nullopt if there is none.
  std::optional<std::int64_t> newest_time_us() const { return newest_time_us_; }
  std::uint64_t bytes_used() const;

  ObjectTableState export_state() const;
  /// Call only on an empty table. Stages every record again. An engine that already has the same
  /// rows sees no change.
  void import_state(const ObjectTableState& state, Staging& staging);

 private:
  struct Record {
    ObjectId id{};
    std::int64_t time_us = 0;
    LatticePoint position;
    std::uint32_t tags = 0;
    std::uint32_t generation = 0;
    std::uint32_t staged_row = 0;  ///< valid only if that row of the staging half has this slot
  };
  struct TagClock {
    std::uint32_t owned = 0;
    std::int64_t time_us = std::numeric_limits<std::int64_t>::min();
  };
  using Tombstone = ObjectTableState::Tombstone;

  UpdateStatus update_one(const ObjectUpdate& row, Slot likely, std::int64_t time_us_max,
                          Staging& staging);
  UpdateStatus update_vector_one(const VectorUpdate& row, std::span<const float> components,
                                 std::int64_t time_us_max, Staging& staging);
  UpdateStatus take(const ObjectUpdate& row, Slot likely, std::int64_t time_us_max,
                    Staging& staging, Slot& slot);
  UpdateStatus update_tags_one(const TagUpdate& row, std::int64_t time_us_max, Staging& staging);
  UpdateStatus remove_one(const ObjectRemoval& row, std::int64_t time_us_max, Staging& staging);
  void look_up_ahead(std::span<const ObjectUpdate> rows, Slot next, std::span<Slot> likely,
                     const Staging& staging) const;
  Slot add(ObjectId id, Staging& staging);
  void kill(Slot slot, Staging& staging);
  void write_row(Slot slot, ObjectRow& row) const;
  std::span<float> components_of(Slot slot);
  void stage(Slot slot, Staging& staging);
  void bury_leavers(std::int64_t tau_us);
  void forget(Slot slot);
  TagClock& tag_clock(Slot slot);

  ObjectTableOptions options_;
  std::vector<Record> records_;
  std::unique_ptr<ObjectRegistry<std::vector<Record>>> registry_;
  std::vector<TagClock> tag_clocks_;  ///< by slot; may be shorter than records_
  std::vector<float> components_;     ///< by slot, `dimension` numbers each; empty on a lattice
  std::vector<Label> labels_;         ///< by slot; empty on a lattice
  std::unordered_map<Slot, std::uint32_t> followers_;
  std::vector<Slot> free_slots_;
  std::set<Slot> leavers_;          ///< slots of objects that left since the last prepare_tick
  std::set<Tombstone> tombstones_;  ///< at most one for each slot
  std::unordered_map<Slot, std::int64_t> forget_at_us_;  ///< the times of tombstones_, by slot
  std::uint64_t alive_count_ = 0;
  /// A lower bound of the event times of all objects alive.
  std::int64_t oldest_time_us_ = std::numeric_limits<std::int64_t>::max();
  std::optional<std::int64_t> newest_time_us_;
};

}  // namespace starling
