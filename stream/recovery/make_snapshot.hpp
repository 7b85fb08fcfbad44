// SPDX-License-Identifier: Apache-2.0
// Makes a snapshot of a log from the last snapshot and the records after it, and removes files that
// are not needed any more. It uses no part of the server that writes the log, so it may run beside
// the server. SnapshotMaker and apps/journal call it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/reader.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/stream/recovery/logged_state.hpp"
#include "starling/stream/recovery/replayed_tables.hpp"

namespace starling::stream {

/// SnapshotTask::is_cancelled has returned true.
class SnapshotCancelled : public std::runtime_error {
 public:
  SnapshotCancelled() : std::runtime_error("the snapshot was cancelled") {}
};

struct SnapshotTask {
  log::Files& files;
  EngineMaker make_engine;
  SessionLimits sessions{};
  /// The place of the snapshot, which stands for all records before it. These records are on the
  /// disk, and no tick is under way at this place. Default: the last place of the log where no tick
  /// is under way.
  std::uint64_t until = log::LogRange::no_end;
  std::int64_t created_us = 0;  ///< now, on the wall clock
  /// How far back from `created_us` the log must still be able to go: see JournalOptions::keep_us.
  std::int64_t keep_us = 0;
  /// Called now and then, on the thread of make_snapshot().
  std::function<bool()> is_cancelled = [] { return false; };
};

struct SnapshotMade {
  log::SnapshotInfo snapshot;
  std::uint64_t dropped_files = 0;
  std::string not_dropped{};  ///< why older files could not be removed; otherwise empty
};

/// Returns std::nullopt if there is no log, or if a tick is under way at each place after the last
/// snapshot. Throws SnapshotCancelled, log::IoError, log::DamagedLog, UnknownRecord,
/// std::runtime_error and std::bad_alloc. The log is then as before.
std::optional<SnapshotMade> make_snapshot(const SnapshotTask& task);

/// All that a snapshot of a server's log holds.
struct SnapshotState {
  std::uint64_t epoch = 0;
  std::vector<protocol::Run> runs;
  LoggedState state;
};
/// Throws log::DamagedLog, log::IoError, UnknownRecord.
SnapshotState read_state(log::Files& files, const log::SnapshotInfo& snapshot);

/// Returns tau of the last tick before the snapshot; std::nullopt: there was none. Reads only the
/// begin of the snapshot. Throws as read_state() does.
std::optional<std::int64_t> last_tau_us(log::Files& files, const log::SnapshotInfo& snapshot);

}  // namespace starling::stream
