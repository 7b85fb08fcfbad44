// SPDX-License-Identifier: Apache-2.0
// The authoritative table of objects. It applies the rules for event times, tags, tombstones and
// expiry; tags have their own event time. The table writes changed rows into the engine's staging
// half. Processor owns the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "starling/knn/base/sparse_vector.hpp"
#include "starling/knn/engine/staging.hpp"
#include "starling/knn/tables/object_rows.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

class ThreadPool;
struct ObjectPartition;
struct ObjectRecord;

/// The table of objects, which finds an object by id or by slot. Programs change the table through
/// Processor::update and similar functions. If arguments do not fit together, throws
/// std::invalid_argument before anything changes. Example: examples/own_clock.cpp
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
  /// The same as update, in a vector space. `components` has one row for each of `rows`, prepared
  /// for the metric of the space.
  UpdateCounts update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                              std::int64_t time_us_max, std::span<UpdateStatus> statuses,
                              Staging& staging);
  /// Applies the rows of several batches, in order, on all threads of `pool`. The effect is that of
  /// one call of update for each batch.
  void update(std::span<const ObjectBatch> batches, Staging& staging, ThreadPool& pool);
  void update_vectors(std::span<const VectorBatch> batches, Staging& staging, ThreadPool& pool);
  UpdateCounts update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                           std::span<UpdateStatus> statuses, Staging& staging,
                           const TagOwner& owner = {});
  /// Removing an unknown object also leaves a tombstone, because its updates may still arrive.
  UpdateCounts remove(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses, Staging& staging);

  /// Stages the objects that expire at `tau_us` and forgets old tombstones. Each call reads at most
  /// `objects_max` objects and tombstones. Returns true if the table is ready; the engine must then
  /// swap its halves. If it returns false, call it again before anything else changes the table.
  ///
  /// prepare_tick reads every record if the object with the oldest known event time may have
  /// expired. While all objects keep sending updates, this happens about once in object_ttl_us.
  /// While objects stop sending one after another, it happens in each tick. An index by time would
  /// cost more, because every update would have to change the index.
  bool prepare_tick(std::int64_t tau_us, std::size_t objects_max, Staging& staging);

  /// Marks an object as followed and returns its slot. Adds the object if it is unknown. Returns
  /// no_slot if the table is full. The object keeps the slot until unfollow has been called once
  /// for each call of follow.
  Slot follow(ObjectId id, Staging& staging);
  void unfollow(Slot slot);

  /// Returns the slot of an id, or no_slot.
  Slot find(ObjectId id) const;
  /// Returns whether the slot has an object that is alive.
  bool is_alive(Slot slot) const;
  /// Returns the object in a slot. The object must be alive, and has the same slot while it is
  /// alive. Throws std::invalid_argument for a slot that no object has had.
  LiveObject object_at(Slot slot) const;
  /// Returns the id of the last object that had the slot, alive or not. Throws what object_at
  /// throws.
  ObjectId id_at(Slot slot) const;
  /// Every slot is less than this number.
  Slot slot_end() const;
  std::uint64_t alive_count() const { return totals_.alive_count; }
  /// Returns the number that objects_max limits: objects alive, tombstones and followed ids.
  std::uint64_t known_count() const;
  /// Returns the newest event time of all accepted positions, or std::nullopt before the first.
  std::optional<std::int64_t> newest_time_us() const { return totals_.newest_time_us; }
  std::uint64_t bytes_used() const;
  /// Returns the bytes of the largest array that growth would copy. 0 in lazy memory.
  std::uint64_t largest_copied_bytes() const;
  /// After set_may_grow(false), the table refuses an unknown object as if it were full, unless the
  /// slot of a forgotten object is free.
  void set_may_grow(bool may_grow) { may_grow_ = may_grow; }

  ObjectTableState export_state() const;
  /// Call only on an empty table. Stages every record again. Rows that an engine already has change
  /// nothing.
  void import_state(const ObjectTableState& state, Staging& staging);
  /// Stages the removal of each of the engine's living objects that is not alive in the table. Call
  /// it after import_state: the table may have forgotten an object whose removal no tick took.
  void stage_forgotten(std::span<const ObjectRow> engine_objects, Staging& staging);

 private:
  struct TagClock {
    std::uint32_t owned = 0;
    std::uint32_t owner = 0;  ///< the owner of the bits in `owned`
    std::int64_t time_us = std::numeric_limits<std::int64_t>::min();
  };
  /// The totals that updates change in addition to the records of objects.
  struct Totals {
    std::uint64_t alive_count = 0;
    /// A lower bound of the event times of all objects alive.
    std::int64_t oldest_time_us = std::numeric_limits<std::int64_t>::max();
    std::optional<std::int64_t> newest_time_us{};
  };
  /// The progress of prepare_tick between its calls.
  struct Preparing {
    Slot slot = 0;
    /// The oldest event time of the objects alive before `slot`.
    std::int64_t oldest_time_us = std::numeric_limits<std::int64_t>::max();
    unsigned partition = 0;
  };
  struct Group;
  struct GroupPiece;
  static constexpr std::size_t rows_at_once = 64;  ///< rows that are looked up together

  const ObjectRecord& record_at(Slot slot) const;
  void check_space() const;
  void check_vectors(std::size_t rows, VectorsView components) const;
  UpdateStatus update_one(const ObjectUpdate& row, Slot likely, std::int64_t time_us_max,
                          Staging& staging);
  UpdateStatus update_vector_one(const VectorUpdate& row, std::span<const float> components,
                                 Slot likely, std::int64_t time_us_max, Staging& staging);
  template <class Row>
  UpdateStatus find_or_add(const Row& row, Slot likely, std::int64_t time_us_max, Staging& staging,
                           Slot& slot);
  template <class Row>
  UpdateStatus take(const Row& row, Slot slot, Totals& totals);
  UpdateStatus update_tags_one(const TagUpdate& row, std::int64_t time_us_max,
                               const TagOwner& owner, Staging& staging);
  UpdateStatus remove_one(const ObjectRemoval& row, std::int64_t time_us_max, Staging& staging);
  template <class Row, class Update>
  UpdateCounts update_in_order(std::span<const Row> rows, std::span<UpdateStatus> statuses,
                               Staging& staging, Update update);
  template <class Row>
  void look_up_ahead(std::span<const Row> rows, Slot next, std::span<Slot> likely) const;
  void prefetch_staged(std::size_t rows, const Staging& staging) const;
  void prefetch_staged(std::span<const Slot> slots, const Staging& staging) const;
  ObjectPartition& partition_at(Slot slot);
  Slot add(ObjectId id, Staging& staging);
  void kill(Slot slot, Staging& staging);
  bool expire_some(std::int64_t oldest_us, std::size_t& objects_max, Staging& staging);

  // An update on several threads (object_table_group.cpp)
  template <class Batch>
  void update_group(std::span<const Batch> batches, Staging& staging, ThreadPool& pool);
  void update_one_by_one(const ObjectBatch& batch, Staging& staging);
  void update_one_by_one(const VectorBatch& batch, Staging& staging);
  template <class Batch>
  void lay_out(std::span<const Batch> batches, std::size_t rows, Staging& staging);
  template <class Row>
  void look_up(std::span<const Row> batch_rows, GroupPiece& piece);
  template <class Batch>
  void update_unknown(const Batch& batch, const GroupPiece& piece, Staging& staging);
  UpdateStatus update_row(const ObjectBatch& batch, std::size_t row, Slot likely, Staging& staging);
  UpdateStatus update_row(const VectorBatch& batch, std::size_t row, Slot likely, Staging& staging);
  template <class Batch>
  void take_share(std::span<const Batch> batches, std::size_t share, Staging& staging);
  template <class Batch>
  UpdateStatus take_known(const Batch& batch, std::size_t row, Slot slot, Totals& totals);
  void stage_shares(Staging& staging, ThreadPool& pool);

  void reserve_registries(const ObjectTableState& state);
  void write_row(Slot slot, ObjectRow& row) const;
  std::span<float> components_of(Slot slot);
  std::span<const float> components_of(Slot slot) const;
  void stage(Slot slot, Staging& staging);
  bool is_staged(Slot slot, const Staging& staging) const;
  void write_staged(Slot slot, Staging& staging) const;
  void reserve_staged(Staging& staging, std::size_t rows) const;
  void resize_columns(Staging& staging) const;
  void forget(Slot slot);
  bool is_followed(Slot slot) const {
    const std::uint32_t* const count = followers_.find(slot);
    return count != nullptr && *count > 0;
  }

  ObjectTableOptions options_;
  std::pmr::vector<ObjectRecord> records_;   ///< [slot]
  std::vector<ObjectPartition> partitions_;  ///< [partition]
  SparseVector<TagClock> tag_clocks_;        ///< [slot]
  std::pmr::vector<float> components_;       ///< [slot][dimension]; empty on a lattice
  std::pmr::vector<Targets> targets_;        ///< [slot]; empty on a lattice
  Preparing preparing_;
  SparseVector<std::uint32_t> followers_;  ///< [slot]
  std::pmr::vector<Slot> free_slots_;
  Totals totals_;
  bool may_grow_ = true;
  std::unique_ptr<Group> group_;  ///< reused memory of updates on several threads
};

}  // namespace starling
