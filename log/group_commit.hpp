// SPDX-License-Identifier: Apache-2.0
// Collects records from one thread and makes them durable on another, many at a time. The producer
// never waits: it asks has_room() and refuses work when there is none.
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
  /// Commits when asked, when half of the buffer waits or a segment ends, and at the latest
  /// `delay_us` after the first record that waits.
  tick,
  sync,  ///< commits without pause while records wait
};

struct GroupCommitOptions {
  CommitPolicy policy = CommitPolicy::tick;
  std::int64_t delay_us = 10'000;
  std::uint64_t buffer_bytes_max = std::uint64_t{64} << 20;  ///< at most group_bytes_max
  /// With `tick`, when this many bytes wait, they are written before they must be durable. With 128
  /// KiB a tick of 330 kB waited least (docs/measurements/journal-2026-11-27.md).
  std::uint64_t begin_bytes = std::uint64_t{128} << 10;
  std::int64_t space_retry_us = 100'000;  ///< how long to wait before a new try after NoSpace
  std::function<std::int64_t()> now_us = &steady_now_us;
};

/// All are called on the committing thread, without a lock.
struct GroupCommitHandlers {
  /// All records before `sequence` are durable.
  std::function<void(std::uint64_t sequence)> on_durable;
  /// The disk is full: called once, until on_durable is called again.
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

  /// Producer: returns whether a record with such a payload may be appended now. False while the
  /// buffer or the disk is full, and after a failure. A record that is longer than the buffer has
  /// room when nothing else waits.
  bool has_room(std::uint64_t payload_bytes) const;
  /// Returns whether nothing will become durable any more, because the disk or memory failed.
  bool has_failed() const;
  /// Producer: returns the record's sequence number. Requires has_room.
  std::uint64_t append(RecordType type, std::uint16_t version,
                       std::span<const std::span<const std::byte>> parts);
  /// Producer: what was appended so far shall become durable now.
  void commit_now();

  /// Starts the committing thread. Without it, step() commits.
  void start();
  /// Commits what waits, and ends the thread. If the disk is full, it counts as a
  /// failure. Does nothing when called again.
  void stop();

  /// Committing thread: writes or commits if that is due, and returns whether it tried.
  bool step();
  /// Returns after how many microseconds step() will have work: 0 now, -1 when nothing waits.
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
  std::int64_t first_waits_us_ = 0;  ///< guarded: since when the first record waits
  bool is_asked_ = false;            ///< guarded
  bool is_stopping_ = false;         ///< guarded
  bool has_failed_ = false;          ///< guarded
  bool is_full_ = false;             ///< guarded: the last try found no room on the disk
  std::int64_t retry_us_ = 0;        ///< guarded
  std::uint64_t taken_bytes_ = 0;    ///< guarded: of taken_, 0 if it is empty
  bool has_begun_ = false;           ///< guarded: taken_ may grow until it is committed
  PendingGroup taken_;               ///< only the committing thread uses it
  PendingGroup next_records_;        ///< what taken_ grows by; only the committing thread uses it
  std::thread thread_;
};

}  // namespace starling::log
