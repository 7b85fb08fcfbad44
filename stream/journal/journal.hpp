// SPDX-License-Identifier: Apache-2.0
// The log of a server: reads it at the start, takes records from the loop, and runs what waits for
// them when they are on the disk. ServerCore owns it; RequestLog and Ticker append to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/log/group_commit.hpp"
#include "starling/log/reader.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/writer.hpp"
#include "starling/stream/journal/journal_options.hpp"
#include "starling/stream/journal/log_scan.hpp"
#include "starling/stream/journal/message_places.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/journal/records.hpp"
#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Journal {
 public:
  /// Opens the folder. `kept` are the options that the log keeps, as to_text() writes them. Throws
  /// as explain() does.
  Journal(Executor& executor, const JournalOptions& options, std::string kept,
          const std::function<std::uint64_t()>& random);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Reads the log after the last snapshot, to find damage before anything else begins. Call it
  /// once, before the functions below. Changes nothing. Throws as explain() does.
  void look_through();
  /// Within a catch clause: throws std::runtime_error with one sentence, which says what to do: the
  /// folder cannot be opened or is used, the log is damaged or of a later version, or it was
  /// written with other options.
  [[noreturn]] void explain() const;

  /// The epoch of the messages: that of the log, or a new one if the log is new or was put back
  /// from a copy.
  std::uint64_t epoch() const { return epoch_; }
  /// This run and those before it, the newest first. Empty before recover(), and the same ever
  /// after, so that any thread may read it.
  const std::vector<protocol::Run>& runs() const { return runs_; }

  log::Files& files() { return *files_; }
  /// The snapshot that stands for the records before those of recover(), if there is one.
  const std::optional<log::SnapshotInfo>& snapshot() const { return snapshot_; }
  /// What is known of the records after the snapshot before they are applied.
  const LogScan& scan() const { return scan_; }

  /// Gives all records after the snapshot to `apply`, in order, cuts a torn tail, and begins to
  /// take records. Call it once, before anything is appended. Throws as explain() does, and what
  /// `apply` throws; the log is then as before.
  void recover(const std::function<void(std::span<const JournalRecord>)>& apply);

  // Each appends a record. What waits for it waits for end().
  template <class Record>
  void append(const Record& record) {
    record_.clear();
    encode(record, record_);
    append_record(type_of(record));
  }
  /// `change` holds an encoded change (record_codec.hpp). It is empty if the request changed
  /// nothing.
  void append(const RequestNote& note, std::span<const std::byte> change);
  /// Appends the mark of a tick, and asks for a commit at once.
  void append(const TickBegunRecord& record);
  void append(const TickFinishedRecord& record);
  /// Appends a PrincipalRecord, if this run has appended none for the number.
  void know(std::uint32_t principal, std::string_view name);

  /// The place after the last record.
  std::uint64_t end() const { return end_; }
  /// The place after the mark of a tick; 0 if the mark is on the disk.
  std::uint64_t end_of_mark(Tick tick) const;
  /// The place after all records that the messages and lists of the last finished tick follow from:
  /// its mark, changes of streams, and the failures of earlier ticks, which would succeed after a
  /// restart without their records. Never less than the place for an earlier tick.
  std::uint64_t end_of_messages(Tick tick) const;
  /// The same for a snapshot of a stream. It lacks the queries that were removed, or have ended,
  /// since its tick: a subscriber would miss them if these changes were lost.
  std::uint64_t end_of_snapshot(Tick tick) const;
  /// The place that the messages of the last finished tick carry: what end_of_messages() returned
  /// while the tick's mark was not on the disk.
  std::uint64_t place_of_messages() const { return places_.of_messages(); }
  /// All records before this place are on the disk.
  std::uint64_t durable() const { return durable_; }
  /// Runs `then` on the loop when all records before `place` are on the disk: now, if they are.
  void when_durable(std::uint64_t place, std::function<void()> then);
  bool is_durable(std::uint64_t place) const { return place <= durable_; }
  /// Returns whether all records are on the disk, and nothing waits.
  bool is_settled() const { return is_durable(end_) && waiting_.empty(); }
  void commit_now();

  /// Returns why the log takes no changes now; std::nullopt: it does.
  const std::optional<std::string>& refusal() const { return refusal_; }
  /// The same for the begin and the end of a session, which do not wait while is_behind().
  std::optional<std::string> refusal_of_session() const;
  /// Returns whether the log has failed. The server ends then, and acknowledges nothing more.
  bool has_failed() const { return commits_->has_failed(); }
  /// Returns whether so much waits for the disk that no further change should be applied.
  bool is_behind() const;
  /// A function that is called when is_behind() or refusal() may have changed, or when records came
  /// to the disk.
  void watch(std::function<void()> changed) { changed_ = std::move(changed); }

  /// A function that begins to make a snapshot which stands for all records before `place`. They
  /// are on the disk, and no tick is under way there. snapshot_ended() must be called later.
  using SnapshotMaker = std::function<void(std::uint64_t place)>;
  void make_snapshots(SnapshotMaker maker) { make_snapshot_ = std::move(maker); }
  /// Call it when the snapshot is on the disk. If the snapshot has failed, pass std::nullopt.
  void snapshot_ended(const std::optional<log::SnapshotInfo>& snapshot);
  /// Whether a tick should only begin when no other is under way, because a snapshot is due.
  bool wants_pause() const { return make_snapshot_ && !is_making_snapshot_ && is_snapshot_due(); }

  struct Counts {
    std::uint64_t tail_bytes = 0;       ///< bytes of the records after the last snapshot
    std::int64_t tail_age_us = 0;       ///< time since the last snapshot, or the begin of the log
    std::uint64_t free_bytes = 0;       ///< free bytes of the folder's file system
    std::uint64_t waiting_records = 0;  ///< number of records that are not on the disk yet
    std::uint64_t commits = 0;          ///< number of commits since the start
    std::optional<std::int64_t> full_us{};  ///< time without room on the disk; none: it has room
    std::uint64_t snapshot_bytes = 0;       ///< bytes of the last snapshot
    std::uint64_t snapshots = 0;            ///< number of snapshots made since the start
    std::uint64_t snapshots_failed = 0;
  };
  Counts counts() const;

  /// Commits what waits and takes no more. Throws std::runtime_error if the log failed, now or
  /// before.
  void stop();

 private:
  static log::RecordType type_of(const EpochRecord&) { return record_type::epoch; }
  static log::RecordType type_of(const RunRecord&) { return record_type::run; }
  static log::RecordType type_of(const PrincipalRecord&) { return record_type::principal; }
  static log::RecordType type_of(const SessionOpenedRecord&) { return record_type::session_opened; }
  static log::RecordType type_of(const SessionEndedRecord&) { return record_type::session_ended; }
  static log::RecordType type_of(const LeasesMovedRecord&) { return record_type::leases_moved; }
  static log::RecordType type_of(const PublishedRecord&) { return record_type::published; }

  void look_at_all();
  void check_kept(const std::vector<std::byte>& user) const;
  log::LogSummary read_and_mend(const std::function<void(std::span<const JournalRecord>)>& apply);
  std::int64_t tail_age_us() const;
  bool is_snapshot_due() const;
  void make_snapshot_if_due();
  void append_record(log::RecordType type);
  void begin_writing(const log::LogSummary& summary);
  void begin_run();
  void write_identity();
  void became_durable(std::uint64_t place);
  void became_full(const std::string& sentence);
  std::string failure_sentence(const std::string& sentence) const;

  Executor& executor_;
  JournalOptions options_;
  std::string kept_;
  std::function<std::uint64_t()> random_;
  std::unique_ptr<log::Files> files_;
  std::optional<log::SnapshotInfo> snapshot_;
  LogScan scan_;
  std::uint64_t epoch_ = 0;
  bool is_epoch_new_ = false;
  bool is_copy_ = false;             ///< the log was put back from a copy
  std::vector<protocol::Run> runs_;  ///< the newest first
  std::unique_ptr<log::Writer> writer_;
  RecordBytes record_;
  std::set<std::uint32_t> known_principals_;
  std::deque<std::pair<Tick, std::uint64_t>> marks_;  ///< not on the disk yet, and their ends
  MessagePlaces places_;
  std::uint64_t end_of_queries_ = 0;  ///< place after the last change of queries
  std::uint64_t end_ = 0;
  std::uint64_t durable_ = 0;
  /// The key is the place that the function waits for.
  std::multimap<std::uint64_t, std::function<void()>> waiting_;
  std::optional<std::string> refusal_;
  std::int64_t full_since_us_ = 0;  ///< begin of the refusal on the steady clock
  std::function<void()> changed_;
  SnapshotMaker make_snapshot_;
  bool is_making_snapshot_ = false;
  std::uint64_t ticks_under_way_ = 0;
  std::uint64_t tail_bytes_ = 0;
  /// The tail_bytes_ when the snapshot that is being made was begun.
  std::uint64_t tail_bytes_at_snapshot_ = 0;
  /// Time of the steady clock at which the last snapshot failed.
  std::optional<std::int64_t> failed_us_;
  std::int64_t tail_since_us_ = 0;  ///< a time of the steady clock
  std::uint64_t commit_count_ = 0;
  std::uint64_t snapshot_count_ = 0;
  std::uint64_t failed_snapshot_count_ = 0;
  std::mutex failing_;
  std::optional<std::string> failure_;         ///< guarded by failing_
  std::unique_ptr<log::GroupCommit> commits_;  ///< ends first
};

}  // namespace starling::stream
