// SPDX-License-Identifier: Apache-2.0
// Makes a snapshot of a log from the last one and the records after it, and removes what need not
// stay any longer. It needs nothing of the server that writes the log, so it may run beside it.
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

/// make_snapshot() was asked to end.
class SnapshotCancelled : public std::runtime_error {
 public:
  SnapshotCancelled() : std::runtime_error("the snapshot was cancelled") {}
};

struct SnapshotTask {
  log::Files& files;
  EngineMaker make_engine;
  SessionLimits sessions{};
  /// The first record that the snapshot does not stand for. All before are on the disk, and no tick
  /// is under way there. Without it, the last such place of the log.
  std::uint64_t until = log::LogRange::no_end;
  std::int64_t created_us = 0;  ///< now, on the wall clock
  /// What the log had in this time before stays: see JournalOptions::keep_us.
  std::int64_t keep_us = 0;
  /// Asked now and then, on the same thread.
  std::function<bool()> is_cancelled = [] { return false; };
};

struct SnapshotMade {
  log::SnapshotInfo snapshot;
  std::uint64_t dropped_files = 0;
  std::string not_dropped{};  ///< why older files stay; otherwise empty
};

/// Returns std::nullopt if the last snapshot stands for all of it, or if there is no log. Throws
/// SnapshotCancelled, log::IoError, log::DamagedLog, UnknownRecord, std::runtime_error and
/// std::bad_alloc: the log is then as before.
std::optional<SnapshotMade> make_snapshot(const SnapshotTask& task);

/// Reads the state that a snapshot has, its epoch and its runs. Throws log::DamagedLog,
/// log::IoError, UnknownRecord.
struct SnapshotState {
  std::uint64_t epoch = 0;
  std::vector<protocol::Run> runs;
  LoggedState state;
};
SnapshotState read_state(log::Files& files, const log::SnapshotInfo& snapshot);

/// Returns tau of the last tick before the snapshot; std::nullopt: there was none. Reads its
/// begin only. Throws as read_state() does.
std::optional<std::int64_t> last_tau_us(log::Files& files, const log::SnapshotInfo& snapshot);

}  // namespace starling::stream
