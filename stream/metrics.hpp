// SPDX-License-Identifier: Apache-2.0
// The server's counters, gauges and histograms, for /metrics and GetStats. Built on prometheus-cpp.
// Decode workers and the loop call decoded(). Only the loop calls the other functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/protocol/wire/errors.hpp"

namespace starling::stream {

/// The current values of the gauges. Server collects them for each answer.
struct Gauges {
  double sessions = 0;
  double connections = 0;  ///< to the commands endpoint
  double subscribers = 0;  ///< connections to the results endpoint
  double http_connections = 0;
  double connections_refused = 0;  ///< beyond connections-max or subscribers-max, in total
  double subscriptions = 0;
  double joins = 0;  ///< subscriptions ever made, also by subscribers that left
  double objects = 0;
  double objects_known = 0;  ///< alive, remembered or followed
  double queries = 0;
  double neighbors = 0;  ///< the room for neighbours in all lists
  double streams = 0;
  double names = 0;
  double name_bytes = 0;
  double snapshots = 0;
  double decoding_requests = 0;  ///< read and not applied yet
  double decoding_bytes = 0;
  double searches = 0;          ///< GetNeighbors requests in the engine
  double publishing_ticks = 0;  ///< finished and not sent yet
  double subscriber_bytes = 0;  ///< sent, and not yet received by every subscriber
  double engine_bytes = 0;
  // Each value below is the largest of any session.
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
  /// Shows the limits of `options` as gauges.
  explicit Metrics(const ServerOptions& options);
  ~Metrics();

  /// Counts `count` rows of batches. The outcome `none` means accepted rows.
  void rows(protocol::RowReason outcome, std::uint64_t count);
  void refused(protocol::ErrorCode code);
  void reply_dropped();
  /// Counts a request that could not be decoded for lack of memory, and is therefore refused as
  /// busy.
  void decode_out_of_memory();
  /// Adds the time that a thread took to decode a request.
  void decoded(double ms);
  /// Adds the time that the loop took to apply a batch of rows to the tables.
  void applied(double ms);
  /// `report_ms` is the part of `total_ms` in which the engine's result becomes the streams'
  /// reports.
  void tick_finished(const StageTimes& times, double report_ms, double total_ms);
  void tick_failed();
  /// `encode_ms` is the part of `publish_ms` in which the messages are encoded.
  void tick_published(double encode_ms, double publish_ms, std::uint64_t bytes);
  void overrun(std::uint64_t ticks);
  void lost_by_subscribers(std::uint64_t ticks);

  /// Returns all metrics in Prometheus's text format.
  std::string text(const Gauges& gauges);
  /// Returns all counters and gauges, and the sum and the count of each histogram, with the names
  /// that text() uses.
  std::vector<Sample> samples(const Gauges& gauges);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
