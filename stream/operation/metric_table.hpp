// SPDX-License-Identifier: Apache-2.0
// The table of a server's counters and gauges. Each row holds a metric's name, its help text and
// where its value comes from, so a new metric is one row. Metrics shows the rows. Metrics with
// labels and histograms are not in the table: see metrics.cpp. A test compares docs/operating.md
// with all metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace starling::stream {

/// The state of a server that the rows read. It is collected once for all rows: see
/// metric_table.cpp.
struct ServerReading;

/// What Metrics counts from the start of the server. Decode workers and the loop add to it.
struct MetricCounts {
  std::atomic<double> ticks{};
  std::atomic<double> ticks_failed{};
  std::atomic<double> overruns{};
  std::atomic<double> ticks_lost{};
  std::atomic<double> published_bytes{};
  std::atomic<double> replies_dropped{};
  std::atomic<double> guesses_refused{};
  std::atomic<double> log_lines_left_out{};
  std::atomic<double> out_of_memory{};
  std::atomic<double> decode_s{};
  std::atomic<double> apply_s{};
  std::atomic<double> page_rows{};
  std::atomic<double> page_s{};
  std::atomic<double> loop_turn_longest_s{};
  std::atomic<double> http_timeouts{};
};

enum class MetricKind : std::uint8_t { counter, gauge };

struct MetricRow {
  using Read = double (*)(const ServerReading&);
  using Counted = std::atomic<double> MetricCounts::*;

  std::string_view name{};  ///< empty: the value is shown only as the use of `limit`
  std::string_view help{};
  MetricKind kind = MetricKind::gauge;
  std::variant<Read, Counted> source;
  std::string_view limit{};  ///< the value is this limit's use (limit_table.hpp); empty: no limit's
};

/// /metrics and GetStats show the rows of one kind in the order of the table.
std::span<const MetricRow> metric_table();

/// Returns the row whose value is the use of this limit; nullptr: the metrics do not show its use.
const MetricRow* use_of(std::string_view limit);

}  // namespace starling::stream
