// SPDX-License-Identifier: Apache-2.0
// What the server counts and measures, once, for /metrics and GetStats alike. Over prometheus-cpp;
// every method may be called from any thread, the server calls them on its loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/protocol/wire/errors.hpp"

namespace starling::stream {

/// What is true at the moment of asking.
struct Gauges {
  double sessions = 0;
  double connections = 0;  ///< to the commands endpoint
  double subscribers = 0;  ///< connections to the results endpoint
  double http_connections = 0;
  double connections_refused = 0;  ///< of the first two, ever
  double subscriptions = 0;
  double joins = 0;  ///< subscriptions ever made
  double objects = 0;
  double objects_known = 0;  ///< alive, remembered or followed
  double queries = 0;
  double neighbors = 0;  ///< that all lists may hold
  double streams = 0;
  double names = 0;
  double name_bytes = 0;
  double snapshots = 0;
  double decoding_requests = 0;  ///< read and not yet applied
  double decoding_bytes = 0;
  double searches = 0;          ///< one-shot questions with the engine
  double publishing_ticks = 0;  ///< finished and not yet sent
  double subscriber_bytes = 0;  ///< sent and not yet with every subscriber
  double engine_bytes = 0;
  // Of the session that has most of them.
  double session_credit_rows = 0;
  double session_credit_bytes = 0;
  double session_queries = 0;
  double session_streams = 0;
  double session_names = 0;
  double session_snapshots = 0;
};

struct Sample {
  std::string name;
  double value = 0;
};

struct ServerOptions;

class Metrics {
 public:
  /// The options' limits are told beside what is counted.
  explicit Metrics(const ServerOptions& options);
  ~Metrics();

  /// Rows of batches by what became of them; none: accepted.
  void rows(protocol::RowReason outcome, std::uint64_t count);
  void refused(protocol::ErrorCode code);
  void reply_dropped();
  /// A decode worker had no memory for a request, which is answered with busy.
  void decode_out_of_memory();
  /// A request, on whatever thread.
  void decoded(double ms);
  /// A batch of rows, to the tables.
  void applied(double ms);
  /// `report_ms`: of `total_ms`, making the streams' reports of the engine's result.
  void tick_finished(const StageTimes& times, double report_ms, double total_ms);
  void tick_failed();
  /// `encode_ms`: of `publish_ms`, making the messages.
  void tick_published(double encode_ms, double publish_ms, std::uint64_t bytes);
  void overrun(std::uint64_t ticks);
  void lost_by_subscribers(std::uint64_t ticks);

  /// Prometheus's text format.
  std::string text(const Gauges& gauges);
  /// Counters and gauges; of histograms the sum and the count, named as in the text.
  std::vector<Sample> samples(const Gauges& gauges);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
