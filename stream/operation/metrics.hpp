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

/// The values that a server reads for each request of /metrics or GetStats.
struct Gauges {
  /// One value for each row of metric_table(); 0 if Metrics itself counts the value. Empty: all are
  /// 0.
  std::vector<double> values{};
  /// Connections cut so far because their peer broke a rule, by zmtp::Fault.
  std::array<double, zmtp::fault_count> connections_cut{};
};

/// A value for GetStats. The name has the metric's labels, if there are any.
struct Sample {
  std::string name;
  double value = 0;
};

struct ServerOptions;

class Metrics {
 public:
  /// Shows the rows of metric_table(), and the value and use of each limit of `options`.
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
  /// Counts a line that is left out of the log, because its connection has caused too many lines.
  void log_line_left_out();
  /// Counts a request that is refused as busy, because memory ran out while it was decoded.
  void decode_out_of_memory();
  /// Adds the time that a thread took to decode a request.
  void decoded(double ms);
  /// Adds the time that the loop took to apply a batch of rows to the tables.
  void applied(double ms);
  /// Counts a page of streams, queries or objects. `rows` is the number of rows that the loop
  /// looked at for the page, and `ms` the time that it took.
  void page_read(std::uint64_t rows, double ms);
  /// Adds a turn of the loop (LoopTurns).
  void loop_turn(std::int64_t turn_ns);
  /// `total_ms` is the time from the tick's begin to its reports. `report_ms` is the last
  /// part of `total_ms`, in which the engine's result becomes the streams' reports.
  void tick_finished(const StageTimes& times, double report_ms, double total_ms);
  void tick_failed();
  /// `publish_ms` is the time from the reports until the results socket has the messages.
  /// `encode_ms` is the part of `publish_ms` in which the messages are encoded.
  void tick_published(double encode_ms, double publish_ms, std::uint64_t bytes);
  void overrun(std::uint64_t ticks);
  void lost_by_subscribers(std::uint64_t ticks);

  /// Returns all metrics in Prometheus's text format.
  std::string text(const Gauges& gauges);
  /// Returns all counters and gauges, and the sum and the count of each histogram, under the names
  /// that text() uses.
  std::vector<Sample> samples(const Gauges& gauges);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
