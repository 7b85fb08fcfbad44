// The authoritative table of objects: event-time rules, tags with their own clock, tombstones,
// expiry; it writes what changed into the engine's staging half. Owned by Processor.
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

/// A position of an object at a time. `tags` counts only with `has_tags`, and only for those bits
/// that no TagUpdate has spoken of.
struct ObjectUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  LatticePoint position{};
  std::uint32_t tags = 0;
  bool has_tags = false;
};

/// The same in a vector space, whose components come beside it. `label` counts only with
/// `has_label`; no_label takes a label away.
struct VectorUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  Label label = no_label;
  std::uint32_t tags = 0;
  bool has_tags = false;
  bool has_label = false;
};

/// Bits to set and to clear (a bit in both is set). From then on these bits belong to tag updates.
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
  late,               ///< older than what is stored; dropped
  future,             ///< beyond the latest time allowed
  time_out_of_range,  ///< beyond +-2^61 us
  unknown_object,     ///< tags for an object never seen, or forgotten
  too_many_objects,   ///< the table is at its limit
};

std::string_view to_string(UpdateStatus status);

struct UpdateCounts {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;  ///< all other statuses
};

struct ObjectTableOptions {
  static constexpr std::int64_t never_us = std::numeric_limits<std::int64_t>::max();

  std::uint64_t objects_max = 1u << 27;           ///< alive, tombstones and followed ids together
  std::int64_t object_ttl_us = never_us;          ///< an object with tau - time beyond this leaves
  std::int64_t tombstone_ttl_us = 3'600'000'000;  ///< how long (in tau) a leaver's time is kept
  std::uint64_t hash_seed = 0;                    ///< never changes a result
  std::uint32_t dimension = 0;                    ///< of a vector space, else 0; Processor sets it
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

  // Of vector spaces, by record; else empty.
  std::vector<float> components;
  std::vector<Label> labels;
};

class ObjectTable {
 public:
  explicit ObjectTable(const ObjectTableOptions& options);
  ~ObjectTable();

  /// `statuses` has one entry a row. Rows are taken in order; at equal times the later one wins.
  UpdateCounts update(std::span<const ObjectUpdate> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses, Staging& staging);
  /// The same in a vector space: `components` are of `rows` and prepared for the space's metric.
  UpdateCounts update_vectors(std::span<const VectorUpdate> rows, VectorsView components,
                              std::int64_t time_us_max, std::span<UpdateStatus> statuses,
                              Staging& staging);
  UpdateCounts update_tags(std::span<const TagUpdate> rows, std::int64_t time_us_max,
                           std::span<UpdateStatus> statuses, Staging& staging);
  /// A removal of an unknown object leaves a tombstone too: its fixes may still be under way.
  UpdateCounts remove(std::span<const ObjectRemoval> rows, std::int64_t time_us_max,
                      std::span<UpdateStatus> statuses, Staging& staging);

  /// What falls due at `tau_us`: expiry is staged, old tombstones are forgotten. Call right before
  /// the engine swaps its halves. Reads every record once the oldest time seen may have expired:
  /// about once a TTL while all objects keep moving, each tick where some fall silent one by one.
  /// That costs less than an order by time would, which every update had to change.
  void prepare_tick(std::int64_t tau_us, Staging& staging);

  /// A slot for a followed object, known or not, stable until as many unfollow calls; no_slot when
  /// the table is full.
  Slot follow(ObjectId id, Staging& staging);
  void unfollow(Slot slot);

  Slot find(ObjectId id) const;
  bool is_alive(Slot slot) const { return starling::is_alive(records_[slot].generation); }
  std::uint64_t alive_count() const { return alive_count_; }
  /// What objects_max bounds: alive, tombstones and followed ids together.
  std::uint64_t known_count() const { return records_.size() - free_slots_.size(); }
  /// The newest event time of an accepted position so far, if any.
  std::optional<std::int64_t> newest_time_us() const { return newest_time_us_; }
  std::uint64_t bytes_used() const;

  ObjectTableState export_state() const;
  /// Only into an empty table. Stages every record anew, which an engine takes as no change where
  /// it knows the same.
  void import_state(const ObjectTableState& state, Staging& staging);

 private:
  struct Record {
    ObjectId id{};
    std::int64_t time_us = 0;
    LatticePoint position;
    std::uint32_t tags = 0;
    std::uint32_t generation = 0;
    std::uint32_t staged_row = 0;  ///< valid if that row of the half is this slot's
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
  std::vector<TagClock> tag_clocks_;  ///< by slot; shorter where no tag update has come
  std::vector<float> components_;     ///< by slot, dimension each; none on a lattice
  std::vector<Label> labels_;         ///< by slot; none on a lattice
  std::unordered_map<Slot, std::uint32_t> followers_;
  std::vector<Slot> free_slots_;
  std::set<Slot> leavers_;          ///< dead or removed anew since the last prepare_tick
  std::set<Tombstone> tombstones_;  ///< one a slot
  std::unordered_map<Slot, std::int64_t> forget_at_us_;  ///< of tombstones_, by slot
  std::uint64_t alive_count_ = 0;
  std::int64_t oldest_time_us_ = std::numeric_limits<std::int64_t>::max();  ///< lower bound, alive
  std::optional<std::int64_t> newest_time_us_;
};

}  // namespace starling
