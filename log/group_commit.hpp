// SPDX-License-Identifier: Apache-2.0
// Collects records from one thread and makes them durable on another, many at a time. The producer
// never waits: it calls has_room() and refuses work when that returns false.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "starling/knn/base/clocks.hpp"
#include "starling/log/writer.hpp"

namespace starling::log {

enum class CommitPolicy {
  /// Commits after commit_now(), when half of the buffer is used, when a segment ends, and at the
  /// latest `delay_us` after the first waiting record was appended.
  tick,
  sync,  ///< commits without pause while records wait
};

struct GroupCommitOptions {
  CommitPolicy policy = CommitPolicy::tick;
  std::int64_t delay_us = 10'000;
  std::uint64_t buffer_bytes_max = std::uint64_t{64} << 20;  ///< at most group_bytes_max
  /// With `tick`: from this many waiting bytes on, records are written before their commit. Ticks
  /// of 330 kB waited least with 128 KiB (docs/measurements/journal-2026-11-27.md).
  std::uint64_t begin_bytes = std::uint64_t{128} << 10;
  std::int64_t space_retry_us = 100'000;  ///< time from NoSpace to the next try
  std::function<std::int64_t()> now_us = &steady_now_us;
};

/// All are called on the committing thread, without a lock.
struct GroupCommitHandlers {
  /// All records before `sequence` are durable.
  std::function<void(std::uint64_t sequence)> on_durable;
  /// The disk is full. Called once, and again only after a later on_durable.
  std::function<void(const std::string& sentence)> on_no_space;
  /// Nothing will become durable any more. Called at most once.
  std::function<void(const std::string& sentence)> on_failure;
};

class GroupCommit {
 public:
  GroupCommit(Writer& writer, GroupCommitOptions options, GroupCommitHandlers handlers);
  ~GroupCommit() { stop(); }
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  /// Producer: returns whether a record with a payload of this length may be appended now. False
  /// while the buffer or the disk is full, and after a failure. A record longer than the buffer may
  /// be appended while no other record waits.
  bool has_room(std::uint64_t payload_bytes) const;
  /// Returns whether nothing will become durable any more, because the disk or memory failed.
  bool has_failed() const;
  /// Producer: appends a record whose payload is the parts in order, and returns its sequence
  /// number. Requires has_room.
  std::uint64_t append(RecordType type, std::uint16_t version,
                       std::span<const std::span<const std::byte>> parts);
  /// Producer: makes the committing thread commit all records appended so far. Does not wait.
  void commit_now();

  /// Starts the committing thread. Without it, step() commits.
  void start();
  /// Commits the waiting records and ends the thread. A full disk counts as a failure. Does nothing
  /// when called again.
  void stop();

  /// Committing thread: writes or commits if that is due, and returns whether it tried.
  bool step();
  /// Returns the microseconds until step() has work: 0 now, -1 when no record waits or the log
  /// failed.
  std::int64_t due_in_us() const;

 private:
  std::int64_t due_in_us_locked() const;
  bool is_commit_due_locked() const;
  bool has_room_locked(std::uint64_t payload_bytes) const;
  bool take_records();
  void end_without_space(const NoSpace& error);
  void fail(const char* sentence, const char* advice = "");
  void run();

  Writer& writer_;
  const GroupCommitOptions options_;
  const GroupCommitHandlers handlers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PendingGroup pending_;             ///< guarded
  std::int64_t first_waits_us_ = 0;  ///< guarded: when the first waiting record was appended
  bool is_asked_ = false;            ///< guarded
  bool is_stopping_ = false;         ///< guarded
  bool has_failed_ = false;          ///< guarded
  bool is_full_ = false;             ///< guarded: the last commit threw NoSpace
  std::int64_t retry_us_ = 0;        ///< guarded
  std::uint64_t taken_bytes_ = 0;    ///< guarded: bytes of taken_, 0 if it is empty
  bool has_begun_ = false;           ///< guarded: taken_ may grow until it is committed
  PendingGroup taken_;               ///< only the committing thread uses it
  PendingGroup next_records_;  ///< records to append to taken_; only the committing thread uses it
  std::thread thread_;
};

}  // namespace starling::log
