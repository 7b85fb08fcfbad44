// SPDX-License-Identifier: Apache-2.0
// The entries of the table of limits: see limit_table.hpp. docs/limits.md lists them for users.
#include "starling/stream/operation/limit_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/limits.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

template <class Path>
using ValueAt = std::remove_reference_t<decltype(Path{}(std::declval<ServerOptions&>()))>;

/// Returns the Field of one member of ServerOptions. `Path` is a lambda that takes ServerOptions
/// and returns a reference to the member.
template <class Path>
constexpr Limit::Field field(Path, std::uint64_t value_max = static_cast<std::uint64_t>(
                                       std::numeric_limits<ValueAt<Path>>::max())) {
  return {.get = [](const ServerOptions& options) -> std::uint64_t {
            return static_cast<std::uint64_t>(Path{}(options));
          },
          .set = [](ServerOptions& options,
                    std::uint64_t value) { Path{}(options) = static_cast<ValueAt<Path>>(value); },
          .value_max = value_max};
}

template <std::uint64_t value>
constexpr Limit::Field fixed() {
  return {.get = [](const ServerOptions&) { return value; }, .value_max = value};
}

constexpr auto all_limits = std::to_array<Limit>({
    {.name = "frame-bytes-max",
     .of = LimitOf::request,
     .bounds = "Bytes of one request",
     .reached = "the connection is closed without an answer",
     .field = field([](auto& options) -> auto& { return options.limits.frame_bytes_max; })},
    {.name = "rows-max",
     .of = LimitOf::request,
     .bounds = "Rows in one request",
     .reached = "Error too_many_rows",
     .field = field([](auto& options) -> auto& { return options.limits.rows_max; })},
    {.name = "questions-max",
     .of = LimitOf::request,
     .bounds = "One-shot questions in one request",
     .reached = "Error too_many_rows",
     .field = field([](auto& options) -> auto& { return options.limits.questions_max; })},
    {.name = "names-asked-max",
     .of = LimitOf::request,
     .bounds = "Names that one request asks for",
     .reached = "Error too_many_rows",
     .field = field([](auto& options) -> auto& { return options.limits.names_asked_max; })},
    {.name = "page-rows-max",
     .of = LimitOf::request,
     .bounds =
         "Rows in one page of streams, queries or objects, and objects that one request names",
     .reached = "Error too_many_rows",
     .field = field([](auto& options) -> auto& { return options.limits.page_rows_max; })},
    {.name = "k-max",
     .of = LimitOf::request,
     .bounds = "Neighbours that a query asks for (its k)",
     .reached = "Error k_out_of_range",
     .field = field(
         [](auto& options) -> auto& { return options.limits.k_max; }, k_max)},
    {.name = "text-bytes-max",
     .of = LimitOf::request,
     .bounds = "Bytes of the name of a client or an object",
     .reached = "Error bad_text",
     .field = field([](auto& options) -> auto& { return options.limits.text_bytes_max; })},
    {.name = "stream-name-bytes-max",
     .of = LimitOf::request,
     .bounds = "Bytes of the name of a stream",
     .reached = "Error bad_text",
     .field = fixed<stream_name_bytes_max>()},
    {.name = "chunk-bytes-max",
     .of = LimitOf::request,
     .bounds = "Bytes of the answer to one-shot questions, and of a part of a tick or snapshot",
     .reached = "an answer: Error too_many_rows; a tick or snapshot: it is sent in more parts",
     .field = fixed<protocol::chunk_bytes_max>()},

    {.name = "http-body-bytes-max",
     .of = LimitOf::request,
     .bounds = "Bytes of the body of an HTTP request",
     .reached = "status 413",
     .field = field([](auto& options) -> auto& { return options.http_body_bytes_max; })},

    {.name = "credit-rows",
     .of = LimitOf::session,
     .bounds = "Rows of batches that a session has sent and the server has not answered yet",
     .reached = "Error out_of_credit",
     .field = field([](auto& options) -> auto& { return options.limits.credit_rows; })},
    {.name = "credit-bytes",
     .of = LimitOf::session,
     .bounds = "Bytes of batches that a session has sent and the server has not answered yet",
     .reached = "Error out_of_credit",
     .field = field([](auto& options) -> auto& { return options.limits.credit_bytes; })},
    {.name = "unanswered-max",
     .of = LimitOf::session,
     .bounds =
         "Requests with a sequence number that may be unanswered, and replies kept for resends",
     .reached = "Error sequence_forgotten, if a request without a kept reply is sent again",
     .field = field([](auto& options) -> auto& { return options.limits.unanswered_max; })},
    {.name = "session-queries-max",
     .of = LimitOf::session,
     .bounds = "Standing queries that were last put by one session",
     .reached = "the row is rejected: too_many_queries_of_session",
     .field = field([](auto& options) -> auto& { return options.sessions.queries_max; }),
     .reason = RowReason::too_many_queries_of_session},
    {.name = "session-streams-max",
     .of = LimitOf::session,
     .bounds = "Streams that a session has created",
     .reached = "Error too_many_streams",
     .field = field([](auto& options) -> auto& { return options.sessions.streams_max; })},
    {.name = "session-names-max",
     .of = LimitOf::session,
     .bounds = "Object names that a session was the first to send",
     .reached = "the row is rejected: too_many_names_of_session",
     .field = field([](auto& options) -> auto& { return options.sessions.names_max; }),
     .reason = RowReason::too_many_names_of_session},
    {.name = "session-snapshots-max",
     .of = LimitOf::session,
     .bounds = "Snapshots held for a session; a new one replaces the oldest",
     .reached = "Error busy, while the engine still copies all of them",
     .field =
         field([](auto& options) -> auto& { return options.snapshots.session_snapshots_max; })},
    {.name = "session-snapshots-burst",
     .of = LimitOf::session,
     .bounds = "Snapshots that a session may begin at once; after that, one every 50 ms",
     .reached = "Error busy",
     .field = field(
         [](auto& options) -> auto& { return options.snapshots.burst; }, 1'000'000'000)},

    {.name = "session-pages-burst",
     .of = LimitOf::session,
     .bounds = "Pages of streams, queries, objects and snapshots that a session may ask for at "
               "once; after that, one every 2 ms",
     .reached = "Error busy",
     .field = field(
         [](auto& options) -> auto& { return options.pages.burst; }, 1'000'000'000)},

    {.name = "connection-sessions-max",
     .of = LimitOf::connection,
     .bounds = "Sessions of one connection; a new one replaces its oldest that was never used, or "
               "the one that was silent longest, for 30 s at least",
     .reached = "Error too_many_sessions, if no session of the connection was silent",
     .field =
         field([](auto& options) -> auto& { return options.sessions.connection_sessions_max; })},
    {.name = "connection-snapshots-max",
     .of = LimitOf::connection,
     .bounds = "Snapshots held for all sessions of a connection; a new one replaces its oldest",
     .reached = "Error busy, while the engine still copies all of them",
     .field = field([](auto& options) -> auto& { return options.snapshots.owner_snapshots_max; })},
    {.name = "connection-snapshot-bytes-max",
     .of = LimitOf::connection,
     .bounds = "Bytes of these snapshots; a new one replaces the oldest ones. While the engine "
               "copies one, it counts with the k of its queries",
     .reached = "Error busy, while the engine copies others; Error too_many_rows, if the snapshot "
                "never fits",
     .field = field([](auto& options) -> auto& { return options.snapshots.owner_bytes_max; })},

    {.name = "subscriber-bytes-max",
     .of = LimitOf::subscriber,
     .bounds = "Bytes that wait for one slow subscriber",
     .reached = "the subscriber loses whole ticks and notices a gap in their numbers",
     .field = field([](auto& options) -> auto& { return options.subscriber_bytes_max; })},
    {.name = "subscriber-ticks-max",
     .of = LimitOf::subscriber,
     .bounds = "Messages, one for each tick of a stream, that wait for one slow subscriber; 0: as "
               "many as fit the bytes, at most 64",
     .reached = "the subscriber loses whole ticks and notices a gap in their numbers",
     .field = field([](auto& options) -> auto& { return options.subscriber_ticks_max; }),
     .value_min = 0},

    {.name = "http-stream-bytes-max",
     .of = LimitOf::subscriber,
     .bounds = "Bytes of JSON of a stream: of its lists, and of the ticks that wait for readers of "
               "its events",
     .reached = "lists: status 413; events: the reader misses ticks and gets a gap and new lists",
     .field = field([](auto& options) -> auto& { return options.http_events.bytes_max; })},

    {.name = "subscriber-topics-max",
     .of = LimitOf::subscriber,
     .bounds = "Topics that one connection subscribes to; together they may have 64 bytes for each",
     .reached = "the connection is closed",
     .field = field([](auto& options) -> auto& { return options.subscriber_topics_max; })},

    {.name = "objects-max",
     .bounds = "Objects that are alive, remembered after they left, or followed by a query",
     .reached = "the row is rejected: too_many_objects",
     .field = field([](auto& options) -> auto& { return options.processor.objects.objects_max; }),
     .reason = RowReason::too_many_objects},
    {.name = "queries-max",
     .bounds = "Standing queries",
     .reached = "the row is rejected: too_many_queries",
     .field = field([](auto& options) -> auto& { return options.processor.queries.queries_max; }),
     .reason = RowReason::too_many_queries},
    {.name = "memory-bytes-max",
     .bounds = "Resident memory of the process; 0: 85 % of what the machine, the control group and "
               "ulimit -v allow",
     .reached =
         "reads and updates of what exists go on; nothing is added: the row is rejected, "
         "Error too_many_streams, or Error busy for a second snapshot; an every-object query "
         "whose lists outgrow the memory is removed",
     .field = field([](auto& options) -> auto& { return options.memory_bytes_max; }),
     .value_min = 0},
    {.name = "journal-tail-bytes-max",
     .bounds = "Bytes of the log's records after its last snapshot",
     .reached =
         "a snapshot is made beside the server, when the records are also more than the last "
         "one; then older files are removed",
     .field = field([](auto& options) -> auto& { return options.journal.tail_bytes_max; })},
    {.name = "vector-bytes-max",
     .bounds = "Bytes of the vectors of all objects, and as many again for all queries",
     .reached = "objects-max and queries-max are lowered to the number of vectors that fit",
     .field = field([](auto& options) -> auto& { return options.vector_bytes_max; })},
    {.name = "neighbors-max",
     .bounds = "Neighbours in all lists together; an every-object query counts k for each object",
     .reached =
         "the row is rejected: too_many_neighbors; an every-object query that grows beyond the "
         "limit is removed",
     .field = field([](auto& options) -> auto& { return options.processor.queries.neighbors_max; }),
     .reason = RowReason::too_many_neighbors},
    {.name = "streams-max",
     .bounds = "Streams",
     .reached = "Error too_many_streams",
     .field = field([](auto& options) -> auto& { return options.processor.queries.streams_max; })},
    {.name = "names-max",
     .bounds = "Object names",
     .reached = "the row is rejected: too_many_names",
     .field = field([](auto& options) -> auto& { return options.names.names_max; }),
     .reason = RowReason::too_many_names},
    {.name = "name-bytes-max",
     .bounds = "Bytes of all object names together",
     .reached = "the row is rejected: too_many_name_bytes",
     .field = field([](auto& options) -> auto& { return options.names.bytes_max; }),
     .reason = RowReason::too_many_name_bytes},
    {.name = "sessions-max",
     .bounds =
         "Sessions; a new one replaces the oldest that was never used, or the one that was silent "
         "longest, for 30 s at least",
     .reached = "Error too_many_sessions, if no session was silent",
     .field = field([](auto& options) -> auto& { return options.sessions.sessions_max; })},
    {.name = "unknown-sessions-burst",
     .bounds = "Requests that one connection may send at once for sessions that are not its own; "
               "after that, one every 100 ms",
     .reached = "Error busy",
     .field = field(
         [](auto& options) -> auto& { return options.guesses.burst; }, 1'000'000'000)},
    {.name = "hellos-burst",
     .bounds = "Hellos that a principal, or without keys an address, may send at once; after that, "
               "one every 4 ms",
     .reached = "Error busy",
     .field = field(
         [](auto& options) -> auto& { return options.hellos.burst; }, 1'000'000'000)},
    {.name = "searches-max",
     .bounds =
         "Requests of one-shot questions that the engine answers or that wait for it; as many "
         "more about the past",
     .reached = "Error busy",
     .field = field([](auto& options) -> auto& { return options.searches_max; })},
    {.name = "snapshots-max",
     .bounds = "Snapshots held at a time",
     .reached = "Error busy",
     .field = field([](auto& options) -> auto& { return options.snapshots.snapshots_max; })},
    {.name = "snapshot-bytes-max",
     .bounds = "Bytes of all snapshots together",
     .reached = "Error busy, if the connection's own snapshots leave too little; Error "
                "too_many_rows, if the snapshot never fits",
     .field = field([](auto& options) -> auto& { return options.snapshots.bytes_max; })},
    {.name = "decode-requests-max",
     .bounds = "Requests that had their turn and are not applied yet",
     .reached =
         "requests wait for their turn, and the server soon reads no more from their senders",
     .field = field([](auto& options) -> auto& { return options.decode_requests_max; })},
    {.name = "decode-bytes-max",
     .bounds = "Bytes of these requests, and of those that wait for their turn",
     .reached =
         "requests wait for their turn, and the server soon reads no more from their senders",
     .field = field([](auto& options) -> auto& { return options.decode_bytes_max; })},
    {.name = "peer-reply-bytes-max",
     .bounds = "Bytes of replies that wait for one client",
     .reached = "the reply is dropped and counted",
     .field = field([](auto& options) -> auto& { return options.peer_reply_bytes_max; })},
    {.name = "reply-bytes-max",
     .bounds = "Bytes of replies that wait for all clients together",
     .reached = "replies to clients for which one already waits are dropped and counted",
     .field = field([](auto& options) -> auto& { return options.reply_bytes_max; })},
    {.name = "connections-max",
     .bounds = "Connections to the commands endpoint",
     .reached = "a new connection takes the newest of the client that has the most, or is closed; "
                "the client's ZeroMQ tries again",
     .field = field([](auto& options) -> auto& { return options.connections_max; })},
    {.name = "subscribers-max",
     .bounds = "Connections to the results endpoint",
     .reached = "as with connections-max",
     .field = field([](auto& options) -> auto& { return options.subscribers_max; })},
    {.name = "handshakes-max",
     .bounds =
         "Connections to one endpoint whose client has not ended its handshake, or waits with "
         "its next HTTP request; one address has at most a quarter of them",
     .reached =
         "the oldest connection that has sent nothing is closed, else the oldest one: of the "
         "address with the most",
     .field = field([](auto& options) -> auto& { return options.handshakes_max; })},
    {.name = "http-connections-max",
     .bounds = "Requests over HTTP whose body is read, or that are answered",
     .reached = "a new request takes the place of the newest of the client that has the most, or "
                "gets status 503",
     .field = field([](auto& options) -> auto& { return options.http_connections_max; })},
    {.name = "http-bodies-bytes-max",
     .bounds = "Bytes of all bodies over HTTP that are read and not answered yet",
     .reached = "status 503, for those with more than their part of it",
     .field = field([](auto& options) -> auto& { return options.http_bodies_bytes_max; })},
    {.name = "http-events-max",
     .bounds = "Readers of events over HTTP, which do not count as connections",
     .reached =
         "a new reader takes the place of the newest of the client that has the most, or gets "
         "status 503",
     .field = field([](auto& options) -> auto& { return options.http_events.readers_max; })},
    {.name = "http-views-max",
     .bounds = "WebSockets, which do not count as connections",
     .reached = "a new WebSocket takes the place of the newest of the client that has the most, or "
                "gets status 503",
     .field = field([](auto& options) -> auto& { return options.http_sockets.sockets_max; })},
});

}  // namespace

std::string_view to_string(LimitOf of) {
  switch (of) {
    case LimitOf::request:
      return "request";
    case LimitOf::session:
      return "session";
    case LimitOf::connection:
      return "connection";
    case LimitOf::subscriber:
      return "subscriber";
    case LimitOf::server:
      return "server";
  }
  return "unknown";
}

std::span<const Limit> limit_table() {
  return all_limits;
}

protocol::ReachedLimit reached(std::string_view name, const ServerOptions& options) {
  const auto found = std::ranges::find(all_limits, name, &Limit::name);
  check_invariant(found != all_limits.end(), "every limit that refuses is in the table");
  return {std::string(name), found->field.get(options)};
}

protocol::ReachedLimit reached(RowReason reason, const ServerOptions& options) {
  const auto found = std::ranges::find(all_limits, reason, &Limit::reason);
  if (reason == RowReason::none || found == all_limits.end()) return {};
  return {std::string(found->name), found->field.get(options)};
}

}  // namespace starling::stream
