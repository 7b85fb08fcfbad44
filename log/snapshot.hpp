// SPDX-License-Identifier: Apache-2.0
// A snapshot is a file that stands for all records of a log before a given one. The log's user
// defines the records in a snapshot. Recovery reads the newest snapshot and then the log's records
// after it, so that older segments may be removed.
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
  std::uint64_t next_sequence = 1;  ///< the first record after the snapshot
  std::int64_t created_us = 0;      ///< wall clock
  std::uint64_t bytes = 0;
  LogId log{};  ///< id of the snapshot's log
};

/// Returns the part of the log after the snapshot. Without a snapshot, returns the whole log.
LogRange range_behind(const std::optional<SnapshotInfo>& snapshot);

/// Reads the header of a snapshot. Throws DamagedLog, LogFromTheFuture, IoError.
SnapshotInfo snapshot_info(Files& files, const std::string& name);

/// Returns all snapshots, oldest first. Reads their headers only. Throws what snapshot_info throws.
std::vector<SnapshotInfo> snapshots(Files& files);

/// Returns the newest snapshot, or std::nullopt if the folder has no snapshot. Reads its header
/// only. Throws what snapshot_info throws.
std::optional<SnapshotInfo> newest_snapshot(Files& files);

/// Calls the handler with each record of the snapshot, in order, until the handler returns false.
/// Throws DamagedLog, LogFromTheFuture, IoError, and what the handler throws.
void read_snapshot(Files& files, const SnapshotInfo& snapshot,
                   const std::function<bool(const Record&)>& handler);

class SnapshotWriter {
 public:
  /// Begins a snapshot that stands for all records before `next_sequence`. `log` is the header of
  /// any segment of the log. Throws IoError.
  SnapshotWriter(Files& files, const SegmentHeader& log, std::uint64_t next_sequence,
                 std::int64_t created_us);
  /// Removes the file of a snapshot that is not finished.
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
  std::unique_ptr<File> file_;  ///< null after finish()
  LogPosition position_;
  PendingGroup group_;
};

/// SnapshotWriter::append refuses longer payloads.
constexpr std::uint64_t snapshot_payload_bytes_max = std::uint64_t{8} << 20;

/// Removes all snapshots older than `oldest`, and all segments whose records are all before it, but
/// never the last segment. Returns the number of removed files. Throws IoError.
std::uint64_t drop_before(Files& files, const SnapshotInfo& oldest);

}  // namespace starling::log
