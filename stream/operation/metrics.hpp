// SPDX-License-Identifier: Apache-2.0
// The server's counters, gauges and histograms, for /metrics and GetStats. The class is built on
// prometheus-cpp. Decode workers and the loop call decoded(). Only the loop calls the other
// functions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/stream/zmtp/fault.hpp"

namespace starling::stream {

/// The current values of the gauges. Server collects them for each request of /metrics or GetStats.
struct Gauges {
  double sessions = 0;
  double connections = 0;  ///< to the commands endpoint
  double subscribers = 0;  ///< connections to the results endpoint
  double http_connections = 0;
  double http_event_readers = 0;
  double http_events = 0;                 ///< sent so far
  double http_events_dropped = 0;         ///< so far: ticks that readers of events missed
  double http_event_gaps = 0;             ///< so far
  double http_event_readers_stalled = 0;  ///< disconnected so far, because they read nothing
  double http_sockets = 0;                ///< WebSockets
  double http_views = 0;                  ///< views that are shown
  double recording = 0;                   ///< 1: the server plays a recording
  double http_socket_messages = 0;        ///< sent so far
  double http_socket_bytes = 0;           ///< of these messages
  double http_socket_lost_ticks = 0;      ///< so far
  double http_socket_broken_rules = 0;    ///< closed so far because of a bad frame
  double http_sockets_stalled = 0;        ///< closed so far because of silence
  double connections_refused = 0;         ///< so far, because of the limits on connections
  double log_lines_dropped = 0;           ///< so far
  double audit_lines_missing = 0;         ///< so far
  double http_tokens_refused = 0;         ///< wrong or missing, so far
  double tls_handshakes = 0;              ///< that succeeded so far
  double tls_handshakes_failed = 0;       ///< so far
  double tls_stalled = 0;     ///< connections cut so far because their client took nothing
  double memory_bytes = 0;    ///< resident
  double clock_steps = 0;     ///< so far
  double clock_offset_s = 0;  ///< of the wall clock, from the server's time
  // Of the log; all 0 without one.
  double journal_tail_bytes = 0;        ///< of records behind the last snapshot
  double journal_tail_age_s = 0;        ///< since the last snapshot, or the begin of the log
  double journal_free_bytes = 0;        ///< of the file system with the log
  double journal_waiting_records = 0;   ///< that are not on the disk yet
  double journal_commits = 0;           ///< so far
  double journal_full = 0;              ///< 1: the disk is full, and changes are refused
  double journal_full_s = 0;            ///< seconds without room; 0: it has room
  double journal_snapshot_bytes = 0;    ///< of the last snapshot
  double journal_snapshots = 0;         ///< that were made so far
  double journal_snapshots_failed = 0;  ///< so far
  double subscriptions = 0;
  double joins = 0;  ///< all subscriptions ever made, including ended ones
  double objects = 0;
  double objects_known = 0;  ///< alive, remembered after leaving, or followed
  double queries = 0;
  double neighbors = 0;  ///< the most that all lists together may hold now
  double streams = 0;
  double names = 0;
  double name_bytes = 0;
  double snapshots = 0;
  double snapshot_bytes = 0;               ///< that are held, or may be copied
  double decoding_requests = 0;            ///< requests that are read and not applied yet
  double decoding_bytes = 0;               ///< of these requests
  double searches = 0;                     ///< GetNeighbors requests that the engine is answering
  double publishing_ticks = 0;             ///< ticks that are finished and not sent yet
  double subscriber_bytes = 0;             ///< that wait for at least one subscriber
  double subscriber_messages_dropped = 0;  ///< so far, counted once for each subscriber
  double reply_bytes = 0;                  ///< that wait, of all clients
  /// Connections cut so far because their peer broke a rule, by zmtp::Fault.
  std::array<double, zmtp::fault_count> connections_cut{};
  double engine_bytes = 0;
  // Each value below is the largest value of any session.
  double session_credit_rows = 0;
  double session_credit_bytes = 0;
  double session_queries = 0;
  double session_streams = 0;
  double session_names = 0;
  double session_snapshots = 0;
  double connection_sessions = 0;  ///< the most of any connection
};

/// One value of one metric.
struct Sample {
  std::string name;
  double value = 0;
};

struct ServerOptions;

class Metrics {
 public:
  /// Makes a gauge for each limit of `options`.
  explicit Metrics(const ServerOptions& options);
  ~Metrics();

  /// Adds `count` rows of batches with this outcome. RowReason::none means accepted rows.
  void rows(protocol::RowReason outcome, std::uint64_t count);
  void refused(protocol::ErrorCode code);
  /// Counts an answer of the HTTP endpoint, by the first digit of its status.
  void http_answered(unsigned status);
  void http_timed_out();
  void reply_dropped();
  /// Counts a request that is refused because its connection has named too many unknown sessions.
  void guess_refused();
  /// Counts a line that the log does not get, because its connection has caused too many.
  void log_line_left_out();
  /// Counts a request that is refused as busy, because memory ran out while it was decoded.
  void decode_out_of_memory();
  /// Adds the time that a thread took to decode a request.
  void decoded(double ms);
  /// Adds the time that the loop took to apply a batch of rows to the tables.
  void applied(double ms);
  /// Counts a page of streams, queries or objects: the rows that the loop looked at for it, and the
  /// time that this took.
  void page_read(std::uint64_t rows, double ms);
  /// Adds a turn of the loop (LoopTurns).
  void loop_turn(std::int64_t turn_ns);
  /// `total_ms` is the time from the tick's begin to its reports. `report_ms` is its last part, in
  /// which the engine's result is turned into the streams' reports.
  void tick_finished(const StageTimes& times, double report_ms, double total_ms);
  void tick_failed();
  /// `publish_ms` is the time from the reports until the results socket has the messages.
  /// `encode_ms` is the part of `publish_ms` in which the messages are encoded.
  void tick_published(double encode_ms, double publish_ms, std::uint64_t bytes);
  void overrun(std::uint64_t ticks);
  void lost_by_subscribers(std::uint64_t ticks);

  /// Returns all metrics in Prometheus's text format.
  std::string text(const Gauges& gauges);
  /// Returns all counters and gauges, and for each histogram its sum and its count. The names are
  /// those that text() uses.
  std::vector<Sample> samples(const Gauges& gauges);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
