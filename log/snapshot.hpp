// SPDX-License-Identifier: Apache-2.0
// A snapshot is a file that stands for all records of a log before a place. What its own records
// say is its user's business. Recovery reads the newest snapshot, and then the log from its place
// on, so that older segments may be dropped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/pending_group.hpp"
#include "starling/log/reader.hpp"

namespace starling::log {

/// A snapshot has this name until all of it is on the disk.
constexpr std::string_view unfinished_snapshot_name = "snapshot.unfinished";

/// Returns the names of all snapshots in the folder, oldest first.
std::vector<std::string> snapshot_names(const Files& files);

struct SnapshotInfo {
  std::string file;
  std::uint64_t next_sequence = 1;  ///< the first record that it does not stand for
  std::int64_t created_us = 0;      ///< wall clock
  std::uint64_t bytes = 0;
  LogId log{};  ///< id of the log that the snapshot is of
};

/// Returns the part of the log after the snapshot. Without a snapshot, returns the whole log.
LogRange range_behind(const std::optional<SnapshotInfo>& snapshot);

/// Reads the header of a snapshot. Throws DamagedLog, LogFromTheFuture, IoError, as do the next
/// two.
SnapshotInfo snapshot_info(Files& files, const std::string& name);

/// Returns all snapshots, oldest first. Reads their headers only.
std::vector<SnapshotInfo> snapshots(Files& files);

/// Returns the newest snapshot, or std::nullopt if the folder has no snapshot. Reads its header
/// only.
std::optional<SnapshotInfo> newest_snapshot(Files& files);

/// Gives all records of the snapshot to the handler, in order, until it returns false. Throws
/// DamagedLog, IoError, and what the handler throws.
void read_snapshot(Files& files, const SnapshotInfo& snapshot,
                   const std::function<bool(const Record&)>& handler);

class SnapshotWriter {
 public:
  /// Begins a snapshot that stands for all records before `next_sequence`. `log` is the header of
  /// any segment of the log. Throws IoError.
  SnapshotWriter(Files& files, const SegmentHeader& log, std::uint64_t next_sequence,
                 std::int64_t created_us);
  /// Removes what is not finished.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  /// Appends a record. Throws IoError, and std::length_error if the payload has more than
  /// snapshot_payload_bytes_max bytes.
  void append(RecordType type, std::uint16_t version, std::span<const std::byte> payload);
  /// Returns when the whole snapshot is on the disk under its name. Throws IoError.
  SnapshotInfo finish();

 private:
  void write_group();

  Files& files_;
  SegmentHeader header_;
  SnapshotInfo info_;
  std::unique_ptr<File> file_;  ///< null: finished
  LogPosition position_;
  PendingGroup group_;
};

/// The longest payload of a snapshot's record.
constexpr std::uint64_t snapshot_payload_bytes_max = std::uint64_t{8} << 20;

/// Removes the snapshots that are older than this one, and the segments of which it stands for
/// every record; never the last segment. Returns how many files. Throws IoError.
std::uint64_t drop_before(Files& files, const SnapshotInfo& oldest);

}  // namespace starling::log
