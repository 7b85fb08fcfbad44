// SPDX-License-Identifier: Apache-2.0
// The folder of a server's log as a start finds it: its last snapshot, its epoch, its runs, and any
// damage. Journal owns it, and appends after the records that it has read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/reader.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/protocol/wire/run.hpp"
#include "starling/stream/journal/decoded_log.hpp"
#include "starling/stream/journal/journal_options.hpp"
#include "starling/stream/journal/log_scan.hpp"

namespace starling::stream {

class FoundLog {
 public:
  /// Opens the folder. `options` must outlive the FoundLog. `kept` are the options that the log
  /// keeps, as to_text() writes them. Throws as explain() does.
  FoundLog(const JournalOptions& options, std::string kept);

  /// Reads the log after the last snapshot and changes nothing. Call it once, before the functions
  /// below. `random` makes the epoch of a log that has none. Throws as explain() does.
  void look_through(const std::function<std::uint64_t()>& random);
  /// Call it only within a catch clause. Throws std::runtime_error with one sentence that says what
  /// is wrong and what helps. For example, another server uses the folder, the log is damaged or of
  /// a later version, or it was written with other options.
  [[noreturn]] void explain() const;

  /// The epoch of the messages: the log's epoch, or a new epoch if the log is new or was put back
  /// from a copy.
  std::uint64_t epoch() const { return epoch_; }
  /// Whether epoch() is new, so that no record has it yet.
  bool is_epoch_new() const { return is_epoch_new_; }
  /// Whether the log was put back from a copy.
  bool is_copy() const { return is_copy_; }
  /// The runs of the server, the newest first. Journal::recover() adds the present run. After that,
  /// the runs never change, so any thread may read them.
  const std::vector<protocol::Run>& runs() const { return runs_; }
  void add_run(const protocol::Run& run);

  log::Files& files() const { return *files_; }
  /// The options that the log keeps.
  const std::string& kept() const { return kept_; }
  /// The snapshot that stands for the records before those of read(), if there is one.
  const std::optional<log::SnapshotInfo>& snapshot() const { return snapshot_; }
  /// What look_through() has found in the records after the snapshot.
  const LogScan& scan() const { return scan_; }
  /// The age of the last snapshot, or of the log if it has none. 0 if the wall clock was set back
  /// since.
  std::int64_t tail_age_us() const;

  /// Gives all records after the snapshot to `handler`, in order, and cuts a torn tail. Throws what
  /// log::read_log and `handler` throw.
  log::LogSummary read_and_mend(const DecodedHandler& handler);
  /// Writes the identity of the folder, by which a later start recognizes a copy. Logs a warning if
  /// that fails.
  void write_identity();

 private:
  void look_at_all(const std::function<std::uint64_t()>& random);
  void check_kept(const std::vector<std::byte>& user) const;

  const JournalOptions& options_;
  std::string kept_;
  std::unique_ptr<log::Files> files_;
  std::optional<log::SnapshotInfo> snapshot_;
  LogScan scan_;
  std::uint64_t epoch_ = 0;
  bool is_epoch_new_ = false;
  bool is_copy_ = false;
  std::vector<protocol::Run> runs_;
};

}  // namespace starling::stream
