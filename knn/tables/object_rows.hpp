// SPDX-License-Identifier: Apache-2.0
// The input and output of the table of objects: rows of updates, the status of each row, the
// table's options, and its exported state.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// The position of an object at a time. `tags` is used only if `has_tags` is true, and only for
/// bits that no TagUpdate has set or cleared.
struct ObjectUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  LatticePoint position{};
  std::uint32_t tags = 0;
  bool has_tags = false;
};

/// An update of an object in a vector space, like ObjectUpdate. The components are passed
/// separately. `label` is used only if `has_label` is true, and `value` only if `has_value` is
/// true. The label no_label removes the object's label, and any NaN removes its value.
struct VectorUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  Label label = no_label;
  double value = no_value;
  std::uint32_t tags = 0;
  bool has_tags = false;
  bool has_label = false;
  bool has_value = false;
};

/// Sets and clears tag bits. A bit that is in both `set` and `clear` is set. Afterwards the tags in
/// an ObjectUpdate or VectorUpdate do not change these bits.
struct TagUpdate {
  ObjectId id{};
  std::int64_t time_us = 0;
  std::uint32_t set = 0;
  std::uint32_t clear = 0;
};

/// The owner that updates tags. The first owner that sets or clears tag bits of an object owns all
/// bits of the object that TagUpdates change, until the object is removed.
struct TagOwner {
  std::uint32_t owner = 0;
  bool may_change_others = true;  ///< may also change the bits of other owners
};

struct ObjectRemoval {
  ObjectId id{};
  std::int64_t time_us = 0;
};

/// An object that is alive, with all updates that were applied so far, also those that no tick has
/// taken yet.
struct LiveObject {
  ObjectId id{};
  std::int64_t time_us = 0;
  LatticePoint position{};  ///< unused in a vector space
  std::uint32_t tags = 0;
};

enum class UpdateStatus : std::uint8_t {
  accepted,
  late,               ///< older than the stored time; dropped
  future,             ///< later than the latest time allowed
  time_out_of_range,  ///< the time lies beyond +-2^61 us
  unknown_object,     ///< tags for an object that was never seen or is forgotten
  too_many_objects,   ///< the table is at its limit
  value_infinite,     ///< VectorUpdate::value is infinite
  not_owner,          ///< the tag bits of the object belong to another owner
};

std::string_view to_string(UpdateStatus status);

struct UpdateCounts {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;  ///< rows with any other status

  void add(UpdateStatus status);
};

UpdateCounts counts_of(std::span<const UpdateStatus> statuses);

/// Rows that are applied in order. A row with a time after `time_us_max` is rejected. `statuses`
/// has one entry for each row, and is written.
struct ObjectBatch {
  std::span<const ObjectUpdate> rows;
  std::int64_t time_us_max = 0;
  std::span<UpdateStatus> statuses;
};

/// An ObjectBatch of a vector space. `components` has one row for each of `rows`, prepared for the
/// metric of the space.
struct VectorBatch {
  std::span<const VectorUpdate> rows;
  VectorsView components;
  std::int64_t time_us_max = 0;
  std::span<UpdateStatus> statuses;
};

struct ObjectTableOptions {
  static constexpr std::int64_t never_us = std::numeric_limits<std::int64_t>::max();

  std::uint64_t objects_max = 1u << 27;   ///< objects alive, tombstones and followed ids together
  std::int64_t object_ttl_us = never_us;  ///< an object expires when tau - time exceeds this
  /// How long a tombstone is kept, measured by tau.
  std::int64_t tombstone_ttl_us = 3'600'000'000;
  std::uint64_t hash_seed = 0;  ///< seed of the hash of object ids; never changes a result
  std::uint32_t dimension = 0;  ///< dimension of a vector space, else 0; Processor sets it
};

/// The whole table, for export and import.
struct ObjectTableState {
  struct Record {
    ObjectRow row;
    ObjectId id{};
    std::uint32_t tags_owned = 0;
    std::uint32_t tags_owner = 0;
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
  std::vector<FreeSlot> free_slots;  ///< the last entry is used first
  std::vector<Tombstone> tombstones;
  std::vector<Slot> leavers;
  std::optional<std::int64_t> newest_time_us;

  // In a vector space, one row and one entry for each of `records`; otherwise empty.
  std::vector<float> components;
  std::vector<Targets> targets;
};

}  // namespace starling
