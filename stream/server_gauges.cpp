// SPDX-License-Identifier: Apache-2.0
// Reads the values that a server shows as gauges: see server_state.hpp.
#include "starling/stream/server_state.hpp"

namespace starling::stream {

std::array<double, zmtp::fault_count> Server::State::cut_counts() const {
  std::array<double, zmtp::fault_count> counts{};
  for (std::size_t index = 0; index < counts.size(); ++index) {
    const auto fault = static_cast<zmtp::Fault>(index);
    counts[index] = static_cast<double>(commands->faults().of(fault) + results->faults().of(fault));
  }
  return counts;
}

Gauges Server::State::gauges() {
  core.tables().settled();
  const auto number = [](auto count) { return static_cast<double>(count); };
  const QueryTable& queries = core.processor().queries();
  const Credit most_credit = core.credit().most_taken();
  const SessionTaken most_taken = core.requests().sessions().most_taken();
  const Journal::Counts logged =
      core.journal() != nullptr ? core.journal()->counts() : Journal::Counts{};
  const std::uint64_t log_lines_dropped =
      options.log_lines_dropped ? options.log_lines_dropped() : 0;
  return {.sessions = number(core.requests().sessions().count()),
          .connections = number(commands->connection_count()),
          .subscribers = number(results->connection_count()),
          .http_connections = number(http->connection_count()),
          .http_event_readers = number(events.reader_count()),
          .http_events = number(events.counts().sent.load()),
          .http_events_dropped = number(events.counts().dropped.load()),
          .http_event_gaps = number(events.counts().gaps.load()),
          .http_event_readers_stalled = number(events.counts().stalled.load()),
          .http_sockets = number(views.counts().sockets.load()),
          .http_views = number(views.counts().views.load()),
          .recording = options.recording ? 1.0 : 0.0,
          .http_socket_messages = number(views.counts().messages.load()),
          .http_socket_bytes = number(views.counts().bytes.load()),
          .http_socket_lost_ticks = number(views.counts().lost_ticks.load()),
          .http_socket_broken_rules = number(views.counts().broken_rules.load()),
          .http_sockets_stalled = number(views.counts().stalled.load()),
          .connections_refused =
              number(commands->refused_count() + results->refused_count() + http->refused_count()),
          .log_lines_dropped = number(log_lines_dropped),
          .audit_lines_missing =
              number(access.audit().left_out() + (audit_file ? audit_file->dropped() : 0)),
          .http_tokens_refused = number(api.refused_count()),
          .tls_handshakes = number(tls ? tls->counts().handshakes.load() : 0),
          .tls_handshakes_failed = number(tls ? tls->counts().failed.load() : 0),
          .tls_stalled = number(tls ? tls->counts().stalled.load() : 0),
          .memory_bytes = number(memory_use().resident),
          .clock_steps = number(core.time().clock_steps()),
          .clock_offset_s = core.time().clock_offset_s(),
          .journal_tail_bytes = number(logged.tail_bytes),
          .journal_tail_age_s = static_cast<double>(logged.tail_age_us) / 1e6,
          .journal_free_bytes = number(logged.free_bytes),
          .journal_waiting_records = number(logged.waiting_records),
          .journal_commits = number(logged.commits),
          .journal_full = logged.full_us ? 1.0 : 0.0,
          .journal_full_s = static_cast<double>(logged.full_us.value_or(0)) / 1e6,
          .journal_snapshot_bytes = number(logged.snapshot_bytes),
          .journal_snapshots = number(logged.snapshots),
          .journal_snapshots_failed = number(logged.snapshots_failed),
          .subscriptions = number(results->subscriber_count()),
          .joins = number(results->join_count()),
          .objects = number(core.processor().objects().alive_count()),
          .objects_known = number(core.processor().objects().known_count()),
          .queries = number(queries.query_count()),
          .neighbors = number(queries.neighbor_count(core.processor().objects())),
          .streams = number(queries.stream_count()),
          .names = number(core.tables().names().count()),
          .name_bytes = number(core.tables().names().bytes()),
          .snapshots = number(core.requests().snapshots().count()),
          .snapshot_bytes = number(core.requests().snapshots().bytes()),
          .decoding_requests = number(core.decoding_requests()),
          .decoding_bytes = number(core.decoding_bytes()),
          .searches = number(core.requests().questions().under_way()),
          .publishing_ticks = number(core.ticker().publishing_count()),
          .subscriber_bytes = number(results->waiting_bytes()),
          .subscriber_messages_dropped = number(results->dropped_count()),
          .reply_bytes = number(commands->reply_bytes()),
          .connections_cut = cut_counts(),
          .engine_bytes = number(core.tables().growth().engine_bytes()),
          .session_credit_rows = number(most_credit.rows),
          .session_credit_bytes = number(most_credit.bytes),
          .session_queries = number(queries.owner_query_count_most()),
          .session_streams = number(most_taken.streams),
          .session_names = number(most_taken.names),
          .session_snapshots = number(core.requests().snapshots().most_held()),
          .connection_sessions = number(core.requests().sessions().most_of_connection())};
}

}  // namespace starling::stream
