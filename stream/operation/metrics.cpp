// SPDX-License-Identifier: Apache-2.0
// Shows the rows of the table of metrics; holds the metrics with labels, and the histograms: see
// metrics.hpp.
#include "starling/stream/operation/metrics.hpp"

#include <array>
#include <sstream>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "starling/stream/operation/limit_table.hpp"
#include "starling/stream/operation/metric_table.hpp"

namespace starling::stream {

namespace {

using protocol::ErrorCode;
using protocol::RowReason;

constexpr std::size_t row_reasons = static_cast<std::size_t>(protocol::last_row_reason) + 1;
// Without ErrorCode::none, which is no answer.
constexpr std::size_t error_codes = static_cast<std::size_t>(protocol::last_error_code);

// Statuses of HTTP from 2xx to 5xx. The endpoint sends no final answer of another class.
constexpr std::size_t http_class_min = 2;
constexpr std::size_t http_classes = 4;

// From 10 us to 10 s. Each bound is 2 or 2.5 times the bound before it.
const prometheus::Histogram::BucketBoundaries stage_bounds_s{
    1e-5,   2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
    2.5e-2, 5e-2,   0.1,  0.25, 0.5,    1.0,  2.5,  5.0,    10.0};

std::string labelled(const std::string& name, const prometheus::ClientMetric& metric) {
  if (metric.label.empty()) return name;
  std::string text = name + '{';
  for (const auto& label : metric.label) {
    if (text.back() != '{') text += ',';
    text += label.name + "=\"" + label.value + '"';
  }
  return text + '}';
}

}  // namespace

struct Metrics::State {
  explicit State(const ServerOptions& options) {
    for (const MetricRow& row : metric_table()) shown.push_back(show(row));
    add_limits(options);
    add_counters(
        cut, "starling_connections_cut_total",
        "Connections to the commands and results endpoints that the server has closed, by the "
        "reason.",
        "reason", [](std::size_t index) { return to_string(static_cast<zmtp::Fault>(index)); });
    add_counters(rows, "starling_rows_total", "Rows of batches, by outcome.", "outcome",
                 [](std::size_t index) {
                   const auto reason = static_cast<RowReason>(index);
                   return reason == RowReason::none ? "accepted" : to_string(reason);
                 });
    add_counters(http_answers, "starling_http_answers_total",
                 "Answers of the HTTP endpoint, by the class of their status.", "status",
                 [](std::size_t index) { return std::to_string(index + http_class_min) + "xx"; });
    add_counters(errors, "starling_refused_requests_total",
                 "Requests answered with an Error, by its code.", "code",
                 [](std::size_t index) { return to_string(static_cast<ErrorCode>(index + 1)); });
  }

  /// The Prometheus metrics that show the value of a row. Those that the row does not have are
  /// null.
  struct Shown {
    prometheus::Counter* counter = nullptr;
    prometheus::Gauge* gauge = nullptr;
    prometheus::Gauge* limit_used = nullptr;
  };

  Shown show(const MetricRow& row) {
    if (row.name.empty()) return {};
    const std::string name(row.name);
    const std::string help(row.help);
    if (row.kind == MetricKind::gauge)
      return {.gauge = &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({})};
    return {.counter =
                &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({})};
  }

  /// Adds a counter for each value that the label has. `text_of` returns the value for an index.
  template <std::size_t count>
  void add_counters(std::array<prometheus::Counter*, count>& counters, const char* name,
                    const char* help, const char* label, const auto& text_of) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    for (std::size_t index = 0; index < count; ++index)
      counters[index] = &family.Add({{label, std::string(text_of(index))}});
  }

  void add_limits(const ServerOptions& options) {
    auto& values = prometheus::BuildGauge()
                       .Name("starling_limit")
                       .Help("Value of each limit of this server, by the name of its flag.")
                       .Register(registry);
    auto& uses = prometheus::BuildGauge()
                     .Name("starling_limit_used")
                     .Help(
                         "Current use of each limit. For a limit on each session, the largest use "
                         "by any session.")
                     .Register(registry);
    for (const Limit& limit : limit_table()) {
      const prometheus::Labels labels{{"name", std::string(limit.name)}};
      values.Add(labels).Set(static_cast<double>(limit.field.get(options)));
      if (const MetricRow* const use = use_of(limit.name))
        shown[static_cast<std::size_t>(use - metric_table().data())].limit_used = &uses.Add(labels);
    }
  }

  prometheus::Histogram& stage(const char* name) {
    return stages.Add({{"stage", name}}, stage_bounds_s);
  }
  void set(const Gauges& gauges);

  prometheus::Registry registry;
  std::array<prometheus::Counter*, row_reasons> rows{};
  std::array<prometheus::Counter*, error_codes> errors{};
  std::array<prometheus::Counter*, http_classes> http_answers{};
  std::array<prometheus::Counter*, zmtp::fault_count> cut{};
  std::vector<Shown> shown;  ///< one for each row of metric_table()
  MetricCounts counts;

  prometheus::Family<prometheus::Histogram>& stages =
      prometheus::BuildHistogram()
          .Name("starling_tick_stage_seconds")
          .Help(
              "Time of each stage of a tick. copy_in, build, search, diff and copy_out are "
              "stages of the engine. report: the result becomes the streams' reports. total: from "
              "begin to finish, with all stages before. encode: the messages are encoded. publish: "
              "from the finish until the results socket has the messages.")
          .Register(registry);
  prometheus::Histogram& copy_in = stage("copy_in");
  prometheus::Histogram& build = stage("build");
  prometheus::Histogram& search = stage("search");
  prometheus::Histogram& diff = stage("diff");
  prometheus::Histogram& copy_out = stage("copy_out");
  prometheus::Histogram& report = stage("report");
  prometheus::Histogram& total = stage("total");
  prometheus::Histogram& encode = stage("encode");
  prometheus::Histogram& publish = stage("publish");

  prometheus::Histogram& loop_turn = prometheus::BuildHistogram()
                                         .Name("starling_loop_turn_seconds")
                                         .Help(
                                             "Time for which a turn of the loop, such as a request "
                                             "or a slice of one, has held the "
                                             "loop.")
                                         .Register(registry)
                                         .Add({}, stage_bounds_s);
};

void Metrics::State::set(const Gauges& gauges) {
  for (std::size_t index = 0; index < shown.size(); ++index) {
    const auto* const counted = std::get_if<MetricRow::Counted>(&metric_table()[index].source);
    const double read = gauges.values.empty() ? 0 : gauges.values[index];
    const double value = counted == nullptr ? read : (counts.**counted).load();
    const auto& [counter, gauge, limit_used] = shown[index];
    if (counter != nullptr) counter->Increment(value - counter->Value());
    if (gauge != nullptr) gauge->Set(value);
    if (limit_used != nullptr) limit_used->Set(value);
  }
  for (std::size_t index = 0; index < cut.size(); ++index)
    cut[index]->Increment(gauges.connections_cut[index] - cut[index]->Value());
}

Metrics::Metrics(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}

Metrics::~Metrics() = default;

void Metrics::rows(RowReason outcome, std::uint64_t count) {
  if (count == 0) return;
  state_->rows[static_cast<std::size_t>(outcome)]->Increment(static_cast<double>(count));
}

void Metrics::refused(ErrorCode code) {
  state_->errors[static_cast<std::size_t>(code) - 1]->Increment();
}

void Metrics::guess_refused() {
  state_->counts.guesses_refused += 1;
}

void Metrics::log_line_left_out() {
  state_->counts.log_lines_left_out += 1;
}

void Metrics::http_timed_out() {
  state_->counts.http_timeouts += 1;
}

void Metrics::http_answered(unsigned status) {
  const std::size_t index = status / 100 - http_class_min;
  if (index < state_->http_answers.size()) state_->http_answers[index]->Increment();
}

void Metrics::reply_dropped() {
  state_->counts.replies_dropped += 1;
}

void Metrics::decode_out_of_memory() {
  state_->counts.out_of_memory += 1;
}

void Metrics::decoded(double ms) {
  state_->counts.decode_s += ms / 1e3;
}

void Metrics::applied(double ms) {
  state_->counts.apply_s += ms / 1e3;
}

void Metrics::page_read(std::uint64_t rows, double ms) {
  state_->counts.page_rows += static_cast<double>(rows);
  state_->counts.page_s += ms / 1e3;
}

void Metrics::loop_turn(std::int64_t turn_ns) {
  const double turn_s = static_cast<double>(turn_ns) / 1e9;
  state_->loop_turn.Observe(turn_s);
  auto& longest_s = state_->counts.loop_turn_longest_s;
  if (turn_s > longest_s) longest_s = turn_s;
}

void Metrics::tick_finished(const StageTimes& times, double report_ms, double total_ms) {
  state_->counts.ticks += 1;
  state_->copy_in.Observe(times.copy_in_ms / 1e3);
  state_->build.Observe(times.build_ms / 1e3);
  state_->search.Observe(times.search_ms / 1e3);
  state_->diff.Observe(times.diff_ms / 1e3);
  state_->copy_out.Observe(times.copy_out_ms / 1e3);
  state_->report.Observe(report_ms / 1e3);
  state_->total.Observe(total_ms / 1e3);
}

void Metrics::tick_failed() {
  state_->counts.ticks_failed += 1;
}

void Metrics::tick_published(double encode_ms, double publish_ms, std::uint64_t bytes) {
  state_->encode.Observe(encode_ms / 1e3);
  state_->publish.Observe(publish_ms / 1e3);
  state_->counts.published_bytes += static_cast<double>(bytes);
}

void Metrics::overrun(std::uint64_t ticks) {
  state_->counts.overruns += static_cast<double>(ticks);
}

void Metrics::lost_by_subscribers(std::uint64_t ticks) {
  state_->counts.ticks_lost += static_cast<double>(ticks);
}

std::string Metrics::text(const Gauges& gauges) {
  state_->set(gauges);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, state_->registry.Collect());
  return out.str();
}

std::vector<Sample> Metrics::samples(const Gauges& gauges) {
  state_->set(gauges);
  std::vector<Sample> samples;
  for (const prometheus::MetricFamily& family : state_->registry.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (family.type == prometheus::MetricType::Histogram) {
        const auto count = static_cast<double>(metric.histogram.sample_count);
        samples.push_back({labelled(family.name + "_sum", metric), metric.histogram.sample_sum});
        samples.push_back({labelled(family.name + "_count", metric), count});
        continue;
      }
      samples.push_back({labelled(family.name, metric),
                         family.type == prometheus::MetricType::Counter ? metric.counter.value
                                                                        : metric.gauge.value});
    }
  }
  return samples;
}

}  // namespace starling::stream
