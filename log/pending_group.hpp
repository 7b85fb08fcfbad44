// SPDX-License-Identifier: Apache-2.0
// The records that will be made durable together. Producers append payloads; hashes are computed
// when the writer seals the group, so that they cost the producing thread nothing.
#pragma once

#include <span>
#include <vector>

#include "starling/log/record.hpp"
#include "starling/log/segment.hpp"

namespace starling::log {

/// A function that throws std::bad_alloc leaves the group as it was.
class PendingGroup {
 public:
  /// The first record will have this sequence number.
  explicit PendingGroup(std::uint64_t next_sequence) { restart(next_sequence); }

  /// Returns whether a record with a payload of this length still fits in the group.
  bool has_room(std::uint64_t payload_bytes) const {
    return payload_bytes <= payload_bytes_max &&
           bytes() + record_bytes(payload_bytes) <= group_bytes_max;
  }
  /// Appends a record whose payload is the parts in order, and returns its sequence number.
  /// Requires has_room, and a type other than commit.
  std::uint64_t append(RecordType type, std::uint16_t version,
                       std::span<const std::span<const std::byte>> parts);
  std::uint64_t append(RecordType type, std::uint16_t version, std::span<const std::byte> payload) {
    return append(type, version, std::span(&payload, 1));
  }

  bool is_empty() const { return buffer_.empty(); }
  /// The bytes that the group takes in a segment, with its commit record.
  std::uint64_t bytes() const { return buffer_.size() + commit_bytes; }
  std::uint64_t first_sequence() const { return first_sequence_; }
  std::uint64_t next_sequence() const { return next_sequence_; }

  /// Appends all records of `next`. Its first record must follow this group's last one. Requires
  /// room.
  void append_group(const PendingGroup& next);

  /// Sets numbers and hashes of all records, and returns their bytes, which do not change any more.
  /// `position` is the place in the log where the group begins. More records may follow. The bytes
  /// are valid until something is appended.
  std::span<const std::byte> seal_records(const LogPosition& position, std::uint64_t seed);
  std::uint64_t sealed_bytes() const { return sealed_bytes_; }
  /// Calls seal_records() and adds the commit record. `position` becomes the place after the group.
  /// Returns all bytes of the group; they are valid until restart().
  std::span<const std::byte> seal(LogPosition& position, std::uint64_t seed);

  /// Forgets all records; keeps the memory.
  void restart(std::uint64_t next_sequence);

 private:
  void seal_next(const LogPosition& position, std::uint64_t seed);

  std::vector<std::byte> buffer_;
  std::uint64_t sealed_bytes_ = 0;
  std::uint64_t chain_ = 0;  ///< the chained hash after the last sealed record, if there is one
  std::uint64_t first_sequence_ = 0;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace starling::log
