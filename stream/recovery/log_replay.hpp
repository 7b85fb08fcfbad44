// SPDX-License-Identifier: Apache-2.0
// Applies the records of a server's log to tables. Records say what was accepted, so no limit,
// quota or right is checked again. The tables get the same changes in the same order as the tables
// of the server that wrote the log, so they end in the same state. Recovery, make_snapshot() and
// LogRun use it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/journal/message_places.hpp"
#include "starling/stream/journal/records.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/recovered_ticks.hpp"
#include "starling/stream/publishing/tick_outcome.hpp"
#include "starling/stream/state/name_table.hpp"
#include "starling/stream/state/session_table.hpp"

namespace starling::stream {

/// The tables that a log determines.
struct LoggedTables {
  Processor& processor;
  Publisher& publisher;
  SessionTable& sessions;
  NameTable& names;
  Accounts& accounts;
  /// true: the streams, queries and names of a request belong to its principal; false: to its
  /// session.
  bool has_keys = false;
  std::int64_t now_us = 0;  ///< time of the steady clock from which sessions are idle
  /// Returns the number of the principal of this name.
  std::function<PrincipalId(const std::string& name)> principal_id;
};

/// All functions throw std::runtime_error, with a sentence, if the tables cannot hold what the log
/// holds.
class LogReplay {
 public:
  /// `ticks` runs the ticks on the same processor.
  LogReplay(LoggedTables tables, RecoveredTicks& ticks)
      : tables_(std::move(tables)), ticks_(ticks) {}

  /// A function that gets the report of each tick when the tables have taken its result, with the
  /// plans of its messages. The report may be moved from.
  using Watcher = std::function<void(TickReport& report, const std::vector<StreamPlan>& plans)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

  /// Applies a record. Call it for all records, in order.
  void apply(const JournalRecord& record) { apply(std::span(&record, 1)); }
  /// Applies a record of a log whose ticks run again with their messages. `end` is the place after
  /// the record, and messages carry these places.
  void apply(const JournalRecord& record, std::uint64_t end) {
    end_ = end;
    apply(record);
  }
  /// Applies several records. Updates of objects that follow each other are applied together, by
  /// all threads of the processor.
  void apply(std::span<const JournalRecord> records);

  /// What the records so far leave open: ticks that have begun and not finished, and replies to
  /// requests for finished ticks, because the log has a reply in a later record.
  struct Open {
    std::deque<TickBegunRecord> ticks;
    /// The key is the session and the sequence.
    std::map<std::pair<std::uint64_t, std::uint64_t>, SequencedReply> replies;
    /// The key is a principal's number in the log. The value is its number in the tables.
    std::map<std::uint32_t, PrincipalId> principals;
  };
  Open& open() { return open_; }
  /// Finishes the oldest tick of open(). Returns why the tick fails now; empty: it succeeds.
  std::string finish_open_tick();

 private:
  /// Applies a record that is no update of objects.
  void apply_other(const JournalRecord& record);
  void apply_session(const SessionOpenedRecord& record);
  void apply_begun(const TickBegunRecord& record);
  void remove_outgrown(const TickBegunRecord& begun);
  void finish_tick(const std::string& error);
  void finish_oldest(TickReport report);
  void apply_request(const RequestRecord& record);
  void apply_updates(std::span<const JournalRecord> records);
  void answered(const RequestRecord& record);
  void apply_change(const RequestRecord& record);
  void apply_names(const RequestRecord& record, const NamesChange& change);
  void apply_stream(const RequestRecord& record, const StreamChange& change);
  void remove_stream(const std::string& name);
  PrincipalId principal_of(std::uint32_t number) const;
  std::uint64_t owner_of(const RequestRecord& record) const;
  StreamId stream_of(const std::string& name) const;

  LoggedTables tables_;
  RecoveredTicks& ticks_;
  Watcher watcher_;
  Open open_;
  std::vector<OutgrownRecord> outgrown_;  ///< the records of a tick whose mark has not come yet
  MessagePlaces places_;
  std::uint64_t end_ = 0;
};

}  // namespace starling::stream
