// SPDX-License-Identifier: Apache-2.0
// The rows of the table of metrics, and how a server reads their values: see metric_table.hpp.
// docs/operating.md describes the metrics for users.
#include "starling/stream/operation/metric_table.hpp"

#include <algorithm>
#include <array>

#include "starling/stream/server_state.hpp"

namespace starling::stream {

struct ServerReading {
  Server::State& server;
  ServerCore& core;
  Journal::Counts log;  ///< zeros if the server has no log
  // The largest values of any session
  Credit most_credit;
  SessionTaken most_taken;
};

namespace {

using From = const ServerReading&;

constexpr double as_double(auto count) {
  return static_cast<double>(count);
}

constexpr auto metric_rows = std::to_array<MetricRow>({
    {"starling_ticks_total", "Ticks finished.", MetricKind::counter, &MetricCounts::ticks},
    {"starling_ticks_failed_total", "Ticks that the engine could not finish.", MetricKind::counter,
     &MetricCounts::ticks_failed},
    {"starling_tick_overruns_total", "Ticks skipped because the tick before had not finished.",
     MetricKind::counter, &MetricCounts::overruns},
    {"starling_subscriber_lost_ticks_total", "Tick messages that subscribers reported as lost.",
     MetricKind::counter, &MetricCounts::ticks_lost},
    {"starling_published_bytes_total", "Bytes of tick messages sent to the results socket.",
     MetricKind::counter, &MetricCounts::published_bytes},
    {"starling_subscriber_dropped_messages_total",
     "Tick messages that a subscriber did not get because too much waited for it.",
     MetricKind::counter,
     [](From from) { return as_double(from.server.results->dropped_count()); }},
    {"starling_replies_dropped_total",
     "Replies dropped because the client had left or did not read.", MetricKind::counter,
     &MetricCounts::replies_dropped},
    {"starling_session_guesses_refused_total",
     "Requests refused because their connection had named too many unknown sessions.",
     MetricKind::counter, &MetricCounts::guesses_refused},
    {"starling_log_lines_dropped_total", "Lines of the log that could not be written in time.",
     MetricKind::counter,
     [](From from) {
       return as_double(
           from.server.options.log_lines_dropped ? from.server.options.log_lines_dropped() : 0);
     }},
    {"starling_log_lines_left_out_total",
     "Lines that the log did not get because one client had caused too many.", MetricKind::counter,
     &MetricCounts::log_lines_left_out},
    {"starling_audit_lines_missing_total",
     "Lines that the audit log did not get: one client had caused too many, or they could not be "
     "written in time.",
     MetricKind::counter,
     [](From from) {
       return as_double(from.server.access.audit().left_out() +
                        (from.server.audit_file ? from.server.audit_file->dropped() : 0));
     }},
    {"starling_http_tokens_refused_total",
     "Requests over HTTP whose token was wrong, or that needed a token and gave none.",
     MetricKind::counter, [](From from) { return as_double(from.server.api.refused_count()); }},
    {"starling_tls_handshakes_total", "TLS handshakes that succeeded.", MetricKind::counter,
     [](From from) {
       return as_double(from.server.tls ? from.server.tls->counts().handshakes.load() : 0);
     }},
    {"starling_tls_handshakes_failed_total", "TLS handshakes that failed or took too long.",
     MetricKind::counter,
     [](From from) {
       return as_double(from.server.tls ? from.server.tls->counts().failed.load() : 0);
     }},
    {"starling_tls_stalled_total",
     "TLS connections that were cut because their client took no bytes for too long.",
     MetricKind::counter,
     [](From from) {
       return as_double(from.server.tls ? from.server.tls->counts().stalled.load() : 0);
     }},
    {"starling_decode_out_of_memory_total",
     "Requests answered with busy because there was no memory to decode them.", MetricKind::counter,
     &MetricCounts::out_of_memory},
    {"starling_decode_seconds_total",
     "Time that all threads together took to verify and decode requests and to convert their rows "
     "to the space.",
     MetricKind::counter, &MetricCounts::decode_s},
    {"starling_apply_seconds_total",
     "Time that the loop took to apply batches of rows to the tables.", MetricKind::counter,
     &MetricCounts::apply_s},
    {"starling_page_rows_total",
     "Rows of the tables that the loop looked at to answer ListStreams, ListQueries and "
     "GetObjects.",
     MetricKind::counter, &MetricCounts::page_rows},
    {"starling_page_seconds_total",
     "Time that the loop took to answer ListStreams, ListQueries and GetObjects.",
     MetricKind::counter, &MetricCounts::page_s},
    {"starling_loop_turn_longest_seconds", "The longest turn of the loop so far.",
     MetricKind::gauge, &MetricCounts::loop_turn_longest_s},
    {"starling_sessions", "Open sessions.", MetricKind::gauge,
     [](From from) { return as_double(from.core.requests().sessions().count()); }, "sessions-max"},
    {"starling_http_timeouts_total",
     "HTTP connections that were closed because their client sent a request or read an answer too "
     "slowly.",
     MetricKind::counter, &MetricCounts::http_timeouts},
    {"starling_connections_refused_total", "Connections that were closed because of a limit.",
     MetricKind::counter,
     [](From from) {
       return as_double(from.server.commands->refused_count() +
                        from.server.results->refused_count() + from.server.http->refused_count());
     }},
    {"starling_http_gave_way_total",
     "Requests over HTTP, readers of events and WebSockets that were closed because another client "
     "had fewer, and all places were taken.",
     MetricKind::counter,
     [](From from) {
       return as_double(from.server.http->requests().gave_way().count +
                        from.server.events.places().gave_way().count +
                        from.server.views.places().gave_way().count);
     }},
    {"starling_clock_steps_total", "How often the wall clock was set by more than a second.",
     MetricKind::counter,
     [](From from) { return as_double(from.core.tables().time().clock_steps()); }},
    {"starling_clock_offset_seconds",
     "How far the wall clock is ahead of the server's time; less than 0: behind.",
     MetricKind::gauge, [](From from) { return from.core.tables().time().clock_offset_s(); }},
    {"starling_journal_tail_bytes", "Bytes of the log's records after its last snapshot.",
     MetricKind::gauge, [](From from) { return as_double(from.log.tail_bytes); }},
    {"starling_journal_tail_age_seconds",
     "Time since the last snapshot of the log, or since its begin.", MetricKind::gauge,
     [](From from) { return as_double(from.log.tail_age_us) / 1e6; }},
    {"starling_journal_free_bytes", "Free bytes of the file system that holds the log.",
     MetricKind::gauge, [](From from) { return as_double(from.log.free_bytes); }},
    {"starling_journal_waiting_records", "Records of the log that are not on the disk yet.",
     MetricKind::gauge, [](From from) { return as_double(from.log.waiting_records); }},
    {"starling_journal_commits_total", "Groups of records that came to the disk.",
     MetricKind::counter, [](From from) { return as_double(from.log.commits); }},
    {"starling_journal_full", "1: the log's disk is full, and changes are refused.",
     MetricKind::gauge, [](From from) { return from.log.full_us ? 1.0 : 0.0; }},
    {"starling_journal_full_seconds", "How long the log's disk has been full. 0: it has room.",
     MetricKind::gauge, [](From from) { return as_double(from.log.full_us.value_or(0)) / 1e6; }},
    {"starling_journal_snapshot_bytes", "Bytes of the log's last snapshot.", MetricKind::gauge,
     [](From from) { return as_double(from.log.snapshot_bytes); }},
    {"starling_journal_snapshots_total", "Snapshots of the log that were made.",
     MetricKind::counter, [](From from) { return as_double(from.log.snapshots); }},
    {"starling_journal_snapshots_failed_total", "Snapshots of the log that could not be made.",
     MetricKind::counter, [](From from) { return as_double(from.log.snapshots_failed); }},
    {"starling_subscriptions", "Subscriptions to the results endpoint.", MetricKind::gauge,
     [](From from) { return as_double(from.server.results->subscriber_count()); }},
    {"starling_subscriptions_joined_total", "Subscriptions ever made to the results endpoint.",
     MetricKind::counter, [](From from) { return as_double(from.server.results->join_count()); }},
    {"starling_http_events_total", "Events sent to readers over HTTP.", MetricKind::counter,
     [](From from) { return as_double(from.server.events.counts().sent.load()); }},
    {"starling_http_events_dropped_total",
     "Ticks that readers of events missed because they were slow or came back late.",
     MetricKind::counter,
     [](From from) { return as_double(from.server.events.counts().dropped.load()); }},
    {"starling_http_event_gaps_total",
     "Events \"gap\" sent to readers that had missed ticks or a restart.", MetricKind::counter,
     [](From from) { return as_double(from.server.events.counts().gaps.load()); }},
    {"starling_http_event_readers_stalled_total",
     "Readers of events that were disconnected because they read nothing.", MetricKind::counter,
     [](From from) { return as_double(from.server.events.counts().stalled.load()); }},
    {"starling_http_views", "Views that WebSockets show.", MetricKind::gauge,
     [](From from) { return as_double(from.server.views.counts().views.load()); }},
    {"starling_recording", "1 if the server plays a recording, as starling view does.",
     MetricKind::gauge, [](From from) { return from.server.options.recording ? 1.0 : 0.0; }},
    {"starling_http_socket_messages_total", "Messages sent over WebSockets.", MetricKind::counter,
     [](From from) { return as_double(from.server.views.counts().messages.load()); }},
    {"starling_http_socket_bytes_total", "Bytes of messages sent over WebSockets.",
     MetricKind::counter,
     [](From from) { return as_double(from.server.views.counts().bytes.load()); }},
    {"starling_http_socket_lost_ticks_total",
     "Ticks of followed streams that WebSockets missed because their client was slow.",
     MetricKind::counter,
     [](From from) { return as_double(from.server.views.counts().lost_ticks.load()); }},
    {"starling_http_socket_broken_rules_total",
     "WebSockets that were closed because of a frame that is not allowed.", MetricKind::counter,
     [](From from) { return as_double(from.server.views.counts().broken_rules.load()); }},
    {"starling_http_sockets_stalled_total",
     "WebSockets that were closed because their client was silent.", MetricKind::counter,
     [](From from) { return as_double(from.server.views.counts().stalled.load()); }},
    {"starling_objects", "Objects that are alive.", MetricKind::gauge,
     [](From from) { return as_double(from.core.processor().objects().alive_count()); }},
    {"starling_queries", "Standing queries.", MetricKind::gauge,
     [](From from) { return as_double(from.core.processor().queries().query_count()); },
     "queries-max"},
    {"starling_streams", "Streams.", MetricKind::gauge,
     [](From from) { return as_double(from.core.processor().queries().stream_count()); },
     "streams-max"},
    {"starling_names", "Names of objects.", MetricKind::gauge,
     [](From from) { return as_double(from.core.tables().names().count()); }, "names-max"},
    {"starling_snapshots", "Snapshots held or being copied.", MetricKind::gauge,
     [](From from) { return as_double(from.core.requests().snapshots().count()); },
     "snapshots-max"},
    {"starling_waiting_requests", "Requests that wait for their turn.", MetricKind::gauge,
     [](From from) { return as_double(from.core.intake().waiting_for_turns()); }},
    {"starling_decoding_requests", "Requests that had their turn and are not applied yet.",
     MetricKind::gauge, [](From from) { return as_double(from.core.intake().decoding()); },
     "decode-requests-max"},
    {"starling_decoding_bytes", "Bytes of requests that had their turn and are not applied yet.",
     MetricKind::gauge, [](From from) { return as_double(from.core.intake().decoding_bytes()); },
     "decode-bytes-max"},
    {"starling_searches", "Requests of one-shot questions that the engine is answering.",
     MetricKind::gauge,
     [](From from) { return as_double(from.core.requests().questions().under_way()); },
     "searches-max"},
    {"starling_publishing_ticks", "Ticks that are finished and not sent yet.", MetricKind::gauge,
     [](From from) { return as_double(from.core.ticker().publishing_count()); }},
    {"starling_engine_bytes", "Memory of the engine's state and index.", MetricKind::gauge,
     [](From from) { return as_double(from.core.tables().growth().engine_bytes()); }},

    // Rows without a name, which show only the use of a limit
    {.source = [](From from) { return as_double(from.most_credit.rows); }, .limit = "credit-rows"},
    {.source = [](From from) { return as_double(from.most_credit.bytes); },
     .limit = "credit-bytes"},
    {.source =
         [](From from) {
           return as_double(from.core.processor().queries().owner_query_count_most());
         },
     .limit = "session-queries-max"},
    {.source = [](From from) { return as_double(from.most_taken.streams); },
     .limit = "session-streams-max"},
    {.source = [](From from) { return as_double(from.most_taken.names); },
     .limit = "session-names-max"},
    {.source = [](From from) { return as_double(from.core.requests().snapshots().most_held()); },
     .limit = "session-snapshots-max"},
    {.source =
         [](From from) { return as_double(from.core.requests().sessions().most_of_connection()); },
     .limit = "connection-sessions-max"},
    {.source = [](From from) { return as_double(from.server.results->waiting_bytes()); },
     .limit = "subscriber-bytes-max"},
    {.source = [](From from) { return as_double(from.core.processor().objects().known_count()); },
     .limit = "objects-max"},
    {.source = [](From) { return as_double(memory_use().resident); }, .limit = "memory-bytes-max"},
    {.source =
         [](From from) {
           return as_double(
               from.core.processor().queries().neighbor_count(from.core.processor().objects()));
         },
     .limit = "neighbors-max"},
    {.source = [](From from) { return as_double(from.core.tables().names().bytes()); },
     .limit = "name-bytes-max"},
    {.source = [](From from) { return as_double(from.core.requests().snapshots().bytes()); },
     .limit = "snapshot-bytes-max"},
    {.source = [](From from) { return as_double(from.server.commands->reply_bytes()); },
     .limit = "reply-bytes-max"},
    {.source = [](From from) { return as_double(from.server.commands->connection_count()); },
     .limit = "connections-max"},
    {.source = [](From from) { return as_double(from.server.results->connection_count()); },
     .limit = "subscribers-max"},
    {.source =
         [](From from) {
           return as_double(std::max({from.server.commands->handshake_count(),
                                      from.server.results->handshake_count(),
                                      from.server.http->handshakes().count()}));
         },
     .limit = "handshakes-max"},
    {.source = [](From from) { return as_double(from.server.http->requests().count()); },
     .limit = "http-connections-max"},
    {.source = [](From from) { return as_double(from.server.http->body_bytes()); },
     .limit = "http-bodies-bytes-max"},
    {.source = [](From from) { return as_double(from.server.events.places().count()); },
     .limit = "http-events-max"},
    {.source = [](From from) { return as_double(from.server.views.places().count()); },
     .limit = "http-views-max"},
});

}  // namespace

std::span<const MetricRow> metric_table() {
  return metric_rows;
}

const MetricRow* use_of(std::string_view limit) {
  const auto found = std::ranges::find(metric_rows, limit, &MetricRow::limit);
  return found == metric_rows.end() ? nullptr : &*found;
}

Gauges Server::State::gauges() {
  core.tables().settled();
  const ServerReading reading{
      .server = *this,
      .core = core,
      .log = core.journal() != nullptr ? core.journal()->counts() : Journal::Counts{},
      .most_credit = core.requests().credit().most_taken(),
      .most_taken = core.requests().sessions().most_taken()};
  Gauges gauges;
  for (const MetricRow& metric : metric_rows) {
    const auto* const read = std::get_if<MetricRow::Read>(&metric.source);
    gauges.values.push_back(read == nullptr ? 0.0 : (*read)(reading));
  }
  for (std::size_t index = 0; index < gauges.connections_cut.size(); ++index) {
    const auto fault = static_cast<zmtp::Fault>(index);
    gauges.connections_cut[index] =
        as_double(commands->faults().of(fault) + results->faults().of(fault));
  }
  return gauges;
}

}  // namespace starling::stream
