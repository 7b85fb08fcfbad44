// SPDX-License-Identifier: Apache-2.0
// Decides when the server makes the next snapshot of its log. Journal calls is_due() after records
// and before ticks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "starling/log/snapshot.hpp"
#include "starling/stream/journal/journal_options.hpp"

namespace starling::stream {

/// Only the loop calls the functions. All times are of the steady clock, in microseconds.
class SnapshotSchedule {
 public:
  /// The tail: the records after the last snapshot.
  struct Tail {
    std::uint64_t bytes = 0;
    std::int64_t since_us = 0;  ///< time of the last snapshot, or of the log's begin
  };
  /// A function that begins to make a snapshot of all records before `place`. These records are on
  /// the disk, and no tick is under way at `place`. When the snapshot is made or has failed,
  /// ended() must be called.
  using Make = std::function<void(std::uint64_t place)>;

  /// `options` must outlive the schedule.
  explicit SnapshotSchedule(const JournalOptions& options) : options_(options) {}

  /// `snapshot_bytes` is the size of the snapshot that the log begins with; 0: it begins without
  /// one.
  void begin(const Tail& tail, std::uint64_t snapshot_bytes) {
    tail_ = tail;
    snapshot_bytes_ = snapshot_bytes;
  }
  /// Sets the function that make() calls. Without it, no snapshot is due.
  void make_with(Make make) { make_ = std::move(make); }
  void appended(std::uint64_t bytes) { tail_.bytes += bytes; }

  /// Whether a snapshot should begin as soon as no tick is under way.
  bool is_due(std::int64_t now_us) const;
  /// Call it once the snapshot's place is known. make() must be called later.
  void begin_one() { bytes_of_snapshot_ = tail_.bytes; }
  void make(std::uint64_t place) const { make_(place); }
  /// Call it when the snapshot is on the disk. If it has failed, pass std::nullopt.
  void ended(const std::optional<log::SnapshotInfo>& snapshot, std::int64_t now_us);

  const Tail& tail() const { return tail_; }
  std::uint64_t snapshot_bytes() const { return snapshot_bytes_; }  ///< bytes of the last snapshot
  std::uint64_t made() const { return made_; }      ///< number of snapshots since the start
  std::uint64_t failed() const { return failed_; }  ///< number of snapshots that failed

 private:
  const JournalOptions& options_;
  Make make_;
  Tail tail_;
  /// The bytes of the tail that the snapshot under way stands for; std::nullopt: no snapshot is
  /// under way.
  std::optional<std::uint64_t> bytes_of_snapshot_;
  std::optional<std::int64_t> failed_us_;  ///< time of the last snapshot, if it failed
  std::uint64_t snapshot_bytes_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace starling::stream
