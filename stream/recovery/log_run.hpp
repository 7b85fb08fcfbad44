// SPDX-License-Identifier: Apache-2.0
// Runs the ticks of a log again, without the server that wrote it. Each tick has the same messages
// as before, and the log has their hash to compare. LogRun only reads the log, so it may run beside
// the server. PastReader and apps use it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "starling/log/files.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/journal/log_scan.hpp"
#include "starling/stream/recovery/replayed_tables.hpp"

namespace starling::stream {

/// A tick that ran again.
struct RanTick {
  const TickReport& report;
  const std::vector<StreamPlan>& plans;
  const std::vector<protocol::TickMessage>& messages;  ///< one for each plan
};

/// A range of tau, in microseconds since 1970. Both ends belong to it.
struct LogSpan {
  std::int64_t from_us = std::numeric_limits<std::int64_t>::min();
  std::int64_t until_us = std::numeric_limits<std::int64_t>::max();

  bool has(std::int64_t tau_us) const { return from_us <= tau_us && tau_us <= until_us; }
};

struct LogRunCounts {
  std::uint64_t ticks = 0;         ///< ticks that ran again without an error
  std::uint64_t failed_ticks = 0;  ///< ticks that failed when they were logged
  std::uint64_t messages = 0;
  std::uint64_t equal = 0;      ///< ticks with the same hash as in the log
  std::uint64_t unhashed = 0;   ///< ticks without a hash in the log
  std::uint64_t different = 0;  ///< ticks with another hash than in the log
  std::optional<Tick> first_different;
  std::optional<std::int64_t> first_us;  ///< tau of the first tick
  std::optional<std::int64_t> last_us;
};

/// LogRunOptions::is_cancelled has returned true.
class LogRunCancelled : public std::runtime_error {
 public:
  LogRunCancelled() : std::runtime_error("the reading of the log was cancelled") {}
};

struct LogRunOptions {
  EngineMaker make_engine;
  /// The run begins at the last snapshot whose ticks are all before this tau. If there is none, it
  /// begins with the first record, or with the oldest snapshot if the log lacks the first record.
  std::int64_t from_us = std::numeric_limits<std::int64_t>::min();
  /// Ticks with a later tau are left out.
  std::int64_t until_us = std::numeric_limits<std::int64_t>::max();
  /// Called now and then, on the thread of the LogRun. If it returns true, the run ends with
  /// LogRunCancelled.
  std::function<bool()> is_cancelled = [] { return false; };
};

class LogRun {
 public:
  /// Reads the log once, to find its ticks. Throws std::runtime_error with a sentence if there is
  /// no log, and LogRunCancelled, log::DamagedLog, log::IoError, UnknownRecord. The functions below
  /// throw the same.
  LogRun(log::Files& files, LogRunOptions options);

  /// Returns tau of each tick within the span that can run again, in order.
  std::vector<std::int64_t> taus(const LogSpan& within) const;
  /// Returns tau of the first tick that go_to() can reach, or std::nullopt if there is none.
  std::optional<std::int64_t> first_us() const;

  /// Runs the ticks within the span, and gives each to the handler until the handler returns false.
  /// Call it once.
  using Handler = std::function<bool(const RanTick& tick)>;
  LogRunCounts run(const LogSpan& span, const Handler& handler);

  /// Brings the tables to the last tick at or before `tau_us`, and returns whether there is one.
  /// Call it once, instead of run().
  bool go_to(std::int64_t tau_us);
  /// Brings the tables to the snapshot, if there is one, and then applies each record. Searches no
  /// tick. Calls the handler after each record, and stops when the handler returns false. Each call
  /// of follow() begins with new tables. Call it instead of run().
  using RecordHandler = std::function<bool(const JournalRecord& applied)>;
  void follow(const RecordHandler& handler);
  /// Returns the space that the log keeps in its header.
  SpaceOptions space() const;
  ReplayedTables& tables() { return *tables_; }

 private:
  struct Stop {};

  template <class Function>
  std::uint64_t for_each_record(const Function& function);
  template <class Function>
  void until_stopped(const Function& function);
  void look_at(const log::Record& record);
  void begin(Tick first_searched);
  void apply(const log::Record& record);
  void ran(TickReport& report, const std::vector<StreamPlan>& plans);
  void check(Tick tick, std::uint64_t hash);

  log::Files& files_;
  LogRunOptions options_;
  std::optional<log::SnapshotInfo> snapshot_;  ///< the snapshot with which the run begins
  std::optional<std::int64_t> snapshot_tau_us_;
  log::LogRange range_;  ///< the records after the snapshot that the constructor read
  std::string kept_;
  LogScan scan_;
  std::map<Tick, std::int64_t> begun_;  ///< tau of ticks that have not finished yet
  bool is_beyond_ = false;              ///< a tick after until_us has begun
  std::map<Tick, std::int64_t> taus_;   ///< tau of the ticks that finished
  std::unique_ptr<ReplayedTables> tables_;
  std::optional<protocol::ServedSpace> space_;
  EncodeHelpers helpers_{0};
  LogSpan span_;
  Handler handler_;
  bool is_stopped_ = false;
  LogRunCounts counts_;
  std::map<Tick, std::uint64_t> hashes_;  ///< hashes of ticks that ran and were not compared yet
};

}  // namespace starling::stream
