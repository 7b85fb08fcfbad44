// SPDX-License-Identifier: Apache-2.0
// Reads the log of a server at the start, and then appends the loop's records to it. ServerLog owns
// the journal. RequestLog, Requests and the parts of Ticker append to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "starling/log/snapshot.hpp"
#include "starling/stream/journal/answer_places.hpp"
#include "starling/stream/journal/commits.hpp"
#include "starling/stream/journal/found_log.hpp"
#include "starling/stream/journal/journal_options.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/journal/records.hpp"
#include "starling/stream/journal/snapshot_schedule.hpp"
#include "starling/stream/pools/executor.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Journal {
 public:
  /// Opens the folder. `options` must outlive the journal. `kept` are the options that the log
  /// keeps, as to_text() writes them. Throws as FoundLog::explain() does.
  Journal(Executor& executor, const JournalOptions& options, std::string kept,
          std::function<std::uint64_t()> random);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Reads the log after the last snapshot, to find damage before anything else begins. Call it
  /// once, before the functions below. Changes nothing. Throws as FoundLog::explain() does.
  void look_through() { found_.look_through(random_); }
  const FoundLog& found() const { return found_; }

  /// Gives all records after the snapshot to `apply`, in order, cuts a torn tail, and begins to
  /// take records. Call it once, before anything is appended. Throws as FoundLog::explain() does,
  /// and what `apply` throws. If `apply` throws, the log stays unchanged.
  void recover(const std::function<void(std::span<const JournalRecord>)>& apply);

  // Each append() appends one record. A function that depends on the record must wait for end().
  template <class Record>
  void append(const Record& record) {
    put(record);
  }
  /// `change` holds an encoded change (record_codec.hpp). It is empty if the request changed
  /// nothing.
  void append(const RequestNote& note, std::span<const std::byte> change);
  /// Appends the queries that a tick removes. Its mark must come next.
  void append_outgrown(Tick tick, std::span<const OutgrownQuery> removed,
                       const QueryTable& queries);
  /// Appends the mark of a tick, and asks for a commit at once.
  void append(const TickBegunRecord& record);
  void append(const TickFinishedRecord& record);
  /// Appends a PrincipalRecord, unless this run has already appended one for the number.
  void know(std::uint32_t principal, std::string_view name);
  /// The place after the last record.
  std::uint64_t end() const { return commits_.end(); }

  const AnswerPlaces& places() const { return places_; }
  Commits& commits() { return commits_; }
  const Commits& commits() const { return commits_; }

  void make_snapshots_with(SnapshotSchedule::Make make) { schedule_.make_with(std::move(make)); }
  /// Whether a tick should only begin when no other is under way, because a snapshot is due.
  bool wants_pause() const { return schedule_.is_due(executor_.now_us()); }
  /// Call it when the snapshot is on the disk. If the snapshot has failed, pass std::nullopt.
  void snapshot_ended(const std::optional<log::SnapshotInfo>& snapshot) {
    schedule_.ended(snapshot, executor_.now_us());
  }

  struct Counts {
    std::uint64_t tail_bytes = 0;       ///< bytes of the records after the last snapshot
    std::int64_t tail_age_us = 0;       ///< time since the last snapshot, or the begin of the log
    std::uint64_t free_bytes = 0;       ///< free bytes of the folder's file system
    std::uint64_t waiting_records = 0;  ///< number of records that are not on the disk yet
    std::uint64_t commits = 0;          ///< number of commits since the start
    /// How long the disk has been full; std::nullopt: it has room.
    std::optional<std::int64_t> full_us{};
    std::uint64_t snapshot_bytes = 0;  ///< bytes of the last snapshot
    std::uint64_t snapshots = 0;       ///< number of snapshots made since the start
    std::uint64_t snapshots_failed = 0;
  };
  Counts counts() const;

 private:
  log::LogSummary read(const std::function<void(std::span<const JournalRecord>)>& apply);
  void begin_writing(const log::LogSummary& summary);
  std::unique_ptr<log::Writer> writer_for(const log::LogSummary& summary);
  bool write_epoch(log::Writer& writer);
  void begin_run();
  template <class Record>
  void put(const Record& record) {
    record_.clear();
    encode(record, record_);
    append_record(record_type_of(record));
  }
  void append_record(log::RecordType type);
  void make_snapshot_if_due();

  Executor& executor_;
  const JournalOptions& options_;
  std::function<std::uint64_t()> random_;
  FoundLog found_;
  AnswerPlaces places_;
  SnapshotSchedule schedule_;
  bool is_mark_next_ = false;  ///< the last OutgrownRecord has no mark yet
  RecordBytes record_;         ///< buffer that all append() calls use
  std::set<std::uint32_t> known_principals_;
  Commits commits_;  ///< declared last, so that its thread ends first
};

}  // namespace starling::stream
