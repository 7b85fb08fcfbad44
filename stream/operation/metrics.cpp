// SPDX-License-Identifier: Apache-2.0
// Names, help texts and buckets of every counter, gauge and histogram: see metrics.hpp.
#include "starling/stream/operation/metrics.hpp"

#include <array>
#include <sstream>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

namespace {

using protocol::ErrorCode;
using protocol::RowReason;

constexpr std::size_t row_reasons = static_cast<std::size_t>(protocol::last_row_reason) + 1;
constexpr std::size_t error_codes = static_cast<std::size_t>(protocol::last_error_code) + 1;

// Statuses of HTTP from 2xx to 5xx. The endpoint sends no final answer of another class.
constexpr std::size_t http_class_min = 2;
constexpr std::size_t http_classes = 4;

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

// From 10 us to 10 s. Each bound is 2 or 2.5 times the one before.
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
    add_limits(options);
    add_faults();
    auto& rows_family = prometheus::BuildCounter()
                            .Name("starling_rows_total")
                            .Help("Rows of batches, by outcome.")
                            .Register(registry);
    for (std::size_t index = 0; index < row_reasons; ++index) {
      const auto reason = static_cast<RowReason>(index);
      const std::string outcome = index == 0 ? "accepted" : std::string(to_string(reason));
      rows[index] = &rows_family.Add({{"outcome", outcome}});
    }
    auto& http_family = prometheus::BuildCounter()
                            .Name("starling_http_answers_total")
                            .Help("Answers of the HTTP endpoint, by the class of their status.")
                            .Register(registry);
    for (std::size_t index = 0; index < http_answers.size(); ++index)
      http_answers[index] =
          &http_family.Add({{"status", std::to_string(index + http_class_min) + "xx"}});
    auto& errors_family = prometheus::BuildCounter()
                              .Name("starling_refused_requests_total")
                              .Help("Requests answered with an Error, by its code.")
                              .Register(registry);
    for (std::size_t index = 1; index < error_codes; ++index)
      errors[index] =
          &errors_family.Add({{"code", std::string(to_string(static_cast<ErrorCode>(index)))}});
  }

  void add_faults() {
    auto& family = prometheus::BuildCounter()
                       .Name("starling_connections_cut_total")
                       .Help(
                           "Connections to the commands and results endpoints that the server has "
                           "closed, by the reason.")
                       .Register(registry);
    for (std::size_t index = 0; index < cut.size(); ++index)
      cut[index] =
          &family.Add({{"reason", std::string(to_string(static_cast<zmtp::Fault>(index)))}});
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
      if (limit.used != nullptr) limits_used.emplace_back(limit.used, &uses.Add(labels));
    }
  }

  prometheus::Histogram& stage(const char* name) {
    return stages.Add({{"stage", name}}, stage_bounds_s);
  }
  prometheus::Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  void set(const Gauges& gauges);

  prometheus::Registry registry;
  std::array<prometheus::Counter*, row_reasons> rows{};
  std::array<prometheus::Counter*, error_codes> errors{};
  std::array<prometheus::Counter*, http_classes> http_answers{};
  std::array<prometheus::Counter*, zmtp::fault_count> cut{};
  std::vector<std::pair<double Gauges::*, prometheus::Gauge*>> limits_used;

  prometheus::Counter& ticks = counter(registry, "starling_ticks_total", "Ticks finished.");
  prometheus::Counter& failed =
      counter(registry, "starling_ticks_failed_total", "Ticks that the engine could not finish.");
  prometheus::Counter& overruns =
      counter(registry, "starling_tick_overruns_total",
              "Ticks skipped because the tick before had not finished.");
  prometheus::Counter& lost = counter(registry, "starling_subscriber_lost_ticks_total",
                                      "Tick messages that subscribers reported as lost.");
  prometheus::Counter& published = counter(registry, "starling_published_bytes_total",
                                           "Bytes of tick messages sent to the results socket.");
  prometheus::Counter& messages_dropped =
      counter(registry, "starling_subscriber_dropped_messages_total",
              "Tick messages that a subscriber did not get because too much waited for it.");
  prometheus::Counter& replies_dropped = counter(registry, "starling_replies_dropped_total",
                                                 "Replies dropped because the client had left or "
                                                 "did not read.");
  prometheus::Counter& guesses_refused =
      counter(registry, "starling_session_guesses_refused_total",
              "Requests refused because their connection had named too many unknown sessions.");
  prometheus::Counter& log_lines_dropped =
      counter(registry, "starling_log_lines_dropped_total",
              "Lines of the log that could not be written in time.");
  prometheus::Counter& log_lines_left_out =
      counter(registry, "starling_log_lines_left_out_total",
              "Lines that the log did not get because one connection had caused too many.");
  prometheus::Counter& audit_lines_missing =
      counter(registry, "starling_audit_lines_missing_total",
              "Lines that the audit log did not get: one connection had caused too many, or they "
              "could not be written in time.");
  prometheus::Counter& http_tokens_refused =
      counter(registry, "starling_http_tokens_refused_total",
              "Requests over HTTP whose token was wrong, or that needed a token and gave none.");
  prometheus::Counter& tls_handshakes =
      counter(registry, "starling_tls_handshakes_total", "TLS handshakes that succeeded.");
  prometheus::Counter& tls_handshakes_failed =
      counter(registry, "starling_tls_handshakes_failed_total",
              "TLS handshakes that failed or took too long.");
  prometheus::Counter& tls_stalled =
      counter(registry, "starling_tls_stalled_total",
              "TLS connections that were cut because their client took no bytes for too long.");
  prometheus::Counter& out_of_memory =
      counter(registry, "starling_decode_out_of_memory_total",
              "Requests answered with busy because there was no memory to decode them.");

  prometheus::Counter& decode_time =
      counter(registry, "starling_decode_seconds_total",
              "Time that all threads together took to verify and decode requests and to convert "
              "their rows to the space.");
  prometheus::Counter& apply_time =
      counter(registry, "starling_apply_seconds_total",
              "Time that the loop took to apply batches of rows to the tables.");

  prometheus::Counter& page_rows =
      counter(registry, "starling_page_rows_total",
              "Rows of the tables that the loop looked at to answer ListStreams, ListQueries and "
              "GetObjects.");
  prometheus::Counter& page_time =
      counter(registry, "starling_page_seconds_total",
              "Time that the loop took to answer ListStreams, ListQueries and GetObjects.");

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
  prometheus::Gauge& loop_turn_longest =
      gauge("starling_loop_turn_longest_seconds", "The longest turn of the loop so far.");

  prometheus::Gauge& sessions = gauge("starling_sessions", "Open sessions.");
  prometheus::Counter& http_timeouts =
      counter(registry, "starling_http_timeouts_total",
              "HTTP connections that were closed because their client sent a request or read an "
              "answer too slowly.");
  prometheus::Counter& connections_refused =
      counter(registry, "starling_connections_refused_total",
              "Connections that were closed because of a limit.");
  prometheus::Counter& clock_steps =
      counter(registry, "starling_clock_steps_total",
              "How often the wall clock was set by more than a second.");
  prometheus::Gauge& clock_offset =
      gauge("starling_clock_offset_seconds",
            "How far the wall clock is ahead of the server's time; less than 0: behind.");
  prometheus::Gauge& journal_tail =
      gauge("starling_journal_tail_bytes", "Bytes of the log's records after its last snapshot.");
  prometheus::Gauge& journal_tail_age =
      gauge("starling_journal_tail_age_seconds",
            "Time since the last snapshot of the log, or since its begin.");
  prometheus::Gauge& journal_free =
      gauge("starling_journal_free_bytes", "Free bytes of the file system that holds the log.");
  prometheus::Gauge& journal_waiting =
      gauge("starling_journal_waiting_records", "Records of the log that are not on the disk yet.");
  prometheus::Counter& journal_commits = counter(registry, "starling_journal_commits_total",
                                                 "Groups of records that came to the disk.");
  prometheus::Gauge& journal_full =
      gauge("starling_journal_full", "1: the log's disk is full, and changes are refused.");
  prometheus::Gauge& journal_full_time = gauge(
      "starling_journal_full_seconds", "How long the log's disk has been full. 0: it has room.");
  prometheus::Gauge& journal_snapshot =
      gauge("starling_journal_snapshot_bytes", "Bytes of the log's last snapshot.");
  prometheus::Counter& journal_snapshots =
      counter(registry, "starling_journal_snapshots_total", "Snapshots of the log that were made.");
  prometheus::Counter& journal_snapshots_failed =
      counter(registry, "starling_journal_snapshots_failed_total",
              "Snapshots of the log that could not be made.");
  prometheus::Gauge& subscriptions =
      gauge("starling_subscriptions", "Subscriptions to the results endpoint.");
  prometheus::Counter& joins = counter(registry, "starling_subscriptions_joined_total",
                                       "Subscriptions ever made to the results endpoint.");
  prometheus::Counter& http_events =
      counter(registry, "starling_http_events_total", "Events sent to readers over HTTP.");
  prometheus::Counter& http_events_dropped =
      counter(registry, "starling_http_events_dropped_total",
              "Ticks that readers of events missed because they were slow or came back late.");
  prometheus::Counter& http_event_gaps =
      counter(registry, "starling_http_event_gaps_total",
              "Events \"gap\" sent to readers that had missed ticks or a restart.");
  prometheus::Counter& http_event_readers_stalled =
      counter(registry, "starling_http_event_readers_stalled_total",
              "Readers of events that were disconnected because they read nothing.");
  prometheus::Gauge& http_views = gauge("starling_http_views", "Views that WebSockets show.");
  prometheus::Gauge& recording =
      gauge("starling_recording", "1 if the server plays a recording, as starling view does.");
  prometheus::Counter& http_socket_messages =
      counter(registry, "starling_http_socket_messages_total", "Messages sent over WebSockets.");
  prometheus::Counter& http_socket_bytes = counter(registry, "starling_http_socket_bytes_total",
                                                   "Bytes of messages sent over WebSockets.");
  prometheus::Counter& http_socket_lost_ticks =
      counter(registry, "starling_http_socket_lost_ticks_total",
              "Ticks of followed streams that WebSockets missed because their client was slow.");
  prometheus::Counter& http_socket_broken_rules =
      counter(registry, "starling_http_socket_broken_rules_total",
              "WebSockets that were closed because of a frame that is not allowed.");
  prometheus::Counter& http_sockets_stalled =
      counter(registry, "starling_http_sockets_stalled_total",
              "WebSockets that were closed because their client was silent.");
  prometheus::Gauge& objects = gauge("starling_objects", "Objects that are alive.");
  prometheus::Gauge& queries = gauge("starling_queries", "Standing queries.");
  prometheus::Gauge& streams = gauge("starling_streams", "Streams.");
  prometheus::Gauge& names = gauge("starling_names", "Names of objects.");
  prometheus::Gauge& snapshots = gauge("starling_snapshots", "Snapshots held or being copied.");
  prometheus::Gauge& decoding_requests =
      gauge("starling_decoding_requests", "Requests that are read and not applied yet.");
  prometheus::Gauge& decoding_bytes =
      gauge("starling_decoding_bytes", "Bytes of requests that are read and not applied yet.");
  prometheus::Gauge& searches =
      gauge("starling_searches", "Requests of one-shot questions that the engine is answering.");
  prometheus::Gauge& publishing =
      gauge("starling_publishing_ticks", "Ticks that are finished and not sent yet.");
  prometheus::Gauge& engine_bytes =
      gauge("starling_engine_bytes", "Memory of the engine's state and index.");
};

void Metrics::State::set(const Gauges& gauges) {
  for (const auto& [value, gauge] : limits_used) gauge->Set(gauges.*value);
  connections_refused.Increment(gauges.connections_refused - connections_refused.Value());
  messages_dropped.Increment(gauges.subscriber_messages_dropped - messages_dropped.Value());
  for (std::size_t index = 0; index < cut.size(); ++index)
    cut[index]->Increment(gauges.connections_cut[index] - cut[index]->Value());
  log_lines_dropped.Increment(gauges.log_lines_dropped - log_lines_dropped.Value());
  audit_lines_missing.Increment(gauges.audit_lines_missing - audit_lines_missing.Value());
  http_tokens_refused.Increment(gauges.http_tokens_refused - http_tokens_refused.Value());
  tls_handshakes.Increment(gauges.tls_handshakes - tls_handshakes.Value());
  tls_handshakes_failed.Increment(gauges.tls_handshakes_failed - tls_handshakes_failed.Value());
  tls_stalled.Increment(gauges.tls_stalled - tls_stalled.Value());
  clock_steps.Increment(gauges.clock_steps - clock_steps.Value());
  clock_offset.Set(gauges.clock_offset_s);
  journal_tail.Set(gauges.journal_tail_bytes);
  journal_tail_age.Set(gauges.journal_tail_age_s);
  journal_free.Set(gauges.journal_free_bytes);
  journal_waiting.Set(gauges.journal_waiting_records);
  journal_commits.Increment(gauges.journal_commits - journal_commits.Value());
  journal_full.Set(gauges.journal_full);
  journal_full_time.Set(gauges.journal_full_s);
  journal_snapshot.Set(gauges.journal_snapshot_bytes);
  journal_snapshots.Increment(gauges.journal_snapshots - journal_snapshots.Value());
  journal_snapshots_failed.Increment(gauges.journal_snapshots_failed -
                                     journal_snapshots_failed.Value());
  sessions.Set(gauges.sessions);
  subscriptions.Set(gauges.subscriptions);
  joins.Increment(gauges.joins - joins.Value());
  http_events.Increment(gauges.http_events - http_events.Value());
  http_events_dropped.Increment(gauges.http_events_dropped - http_events_dropped.Value());
  http_event_gaps.Increment(gauges.http_event_gaps - http_event_gaps.Value());
  http_event_readers_stalled.Increment(gauges.http_event_readers_stalled -
                                       http_event_readers_stalled.Value());
  http_views.Set(gauges.http_views);
  recording.Set(gauges.recording);
  http_socket_messages.Increment(gauges.http_socket_messages - http_socket_messages.Value());
  http_socket_bytes.Increment(gauges.http_socket_bytes - http_socket_bytes.Value());
  http_socket_lost_ticks.Increment(gauges.http_socket_lost_ticks - http_socket_lost_ticks.Value());
  http_socket_broken_rules.Increment(gauges.http_socket_broken_rules -
                                     http_socket_broken_rules.Value());
  http_sockets_stalled.Increment(gauges.http_sockets_stalled - http_sockets_stalled.Value());
  objects.Set(gauges.objects);
  queries.Set(gauges.queries);
  streams.Set(gauges.streams);
  names.Set(gauges.names);
  snapshots.Set(gauges.snapshots);
  decoding_requests.Set(gauges.decoding_requests);
  decoding_bytes.Set(gauges.decoding_bytes);
  searches.Set(gauges.searches);
  publishing.Set(gauges.publishing_ticks);
  engine_bytes.Set(gauges.engine_bytes);
}

Metrics::Metrics(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}

Metrics::~Metrics() = default;

void Metrics::rows(RowReason outcome, std::uint64_t count) {
  if (count == 0) return;
  state_->rows[static_cast<std::size_t>(outcome)]->Increment(static_cast<double>(count));
}

void Metrics::refused(ErrorCode code) {
  state_->errors[static_cast<std::size_t>(code)]->Increment();
}

void Metrics::guess_refused() {
  state_->guesses_refused.Increment();
}

void Metrics::log_line_left_out() {
  state_->log_lines_left_out.Increment();
}

void Metrics::http_timed_out() {
  state_->http_timeouts.Increment();
}

void Metrics::http_answered(unsigned status) {
  const std::size_t index = status / 100 - http_class_min;
  if (index < state_->http_answers.size()) state_->http_answers[index]->Increment();
}

void Metrics::reply_dropped() {
  state_->replies_dropped.Increment();
}

void Metrics::decode_out_of_memory() {
  state_->out_of_memory.Increment();
}

void Metrics::decoded(double ms) {
  state_->decode_time.Increment(ms / 1e3);
}

void Metrics::applied(double ms) {
  state_->apply_time.Increment(ms / 1e3);
}

void Metrics::page_read(std::uint64_t rows, double ms) {
  state_->page_rows.Increment(static_cast<double>(rows));
  state_->page_time.Increment(ms / 1e3);
}

void Metrics::loop_turn(std::int64_t turn_ns) {
  const double turn_s = static_cast<double>(turn_ns) / 1e9;
  state_->loop_turn.Observe(turn_s);
  if (turn_s > state_->loop_turn_longest.Value()) state_->loop_turn_longest.Set(turn_s);
}

void Metrics::tick_finished(const StageTimes& times, double report_ms, double total_ms) {
  state_->ticks.Increment();
  state_->copy_in.Observe(times.copy_in_ms / 1e3);
  state_->build.Observe(times.build_ms / 1e3);
  state_->search.Observe(times.search_ms / 1e3);
  state_->diff.Observe(times.diff_ms / 1e3);
  state_->copy_out.Observe(times.copy_out_ms / 1e3);
  state_->report.Observe(report_ms / 1e3);
  state_->total.Observe(total_ms / 1e3);
}

void Metrics::tick_failed() {
  state_->failed.Increment();
}

void Metrics::tick_published(double encode_ms, double publish_ms, std::uint64_t bytes) {
  state_->encode.Observe(encode_ms / 1e3);
  state_->publish.Observe(publish_ms / 1e3);
  state_->published.Increment(static_cast<double>(bytes));
}

void Metrics::overrun(std::uint64_t ticks) {
  if (ticks > 0) state_->overruns.Increment(static_cast<double>(ticks));
}

void Metrics::lost_by_subscribers(std::uint64_t ticks) {
  if (ticks > 0) state_->lost.Increment(static_cast<double>(ticks));
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
