// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler for requests with a sequence number. These requests change the
// server's state. Each request is applied once, in the order of the sequence numbers.
#include <chrono>
#include <ctime>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/overloaded.hpp"
#include "starling/protocol/rows/conversions.hpp"
#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/limit_table.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::ErrorCode;
using protocol::RowReason;

namespace {

// What a new query and each neighbour in its list take, about, in the table and in the engine.
constexpr std::uint64_t memory_bytes_per_query = 300;
constexpr std::uint64_t memory_bytes_per_neighbor = 90;

SequencedReply error_reply(ErrorCode code, std::string sentence,
                           protocol::ReachedLimit limit = {}) {
  return protocol::ErrorReply{{code, std::move(sentence), std::move(limit)}, 0};
}

/// Returns the time as text, for example "1467331199250000 us (2016-06-30T23:59:59Z)".
std::string time_text(std::int64_t time_us) {
  using namespace std::chrono;
  const sys_time<microseconds> time{microseconds(time_us)};
  const std::time_t seconds_since_1970 = floor<seconds>(time).time_since_epoch().count();
  std::string text = std::to_string(time_us) + " us";
  std::tm utc{};
  char iso[40];
  if (gmtime_r(&seconds_since_1970, &utc) != nullptr &&
      std::strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
    text.append(" (").append(iso).append(")");
  return text;
}

}  // namespace

void RequestHandler::handle_sequenced(const Caller& caller, PreparedRequest& request) {
  using Kind = SessionTable::Admission::Kind;
  const auto& head = caller.head;
  const auto admission = sessions_.admit(head.session, head.sequence, request.request.hash);
  switch (admission.kind) {
    case Kind::fresh:
      return execute(caller, request);
    case Kind::resend:
      return send_reply(caller, *admission.reply);
    case Kind::unanswered:
      for (Caller& advancing : advancing_)
        if (advancing.head.session == head.session && advancing.head.sequence == head.sequence)
          advancing = caller;
      return;
    case Kind::different:
      return refuse(caller, ErrorCode::bad_value,
                    "Sequence number " + std::to_string(head.sequence) +
                        " was used for another request; send only the same request again with a "
                        "number that was used, and go on with " +
                        std::to_string(admission.expected) + ".");
    case Kind::gap:
      return refuse(caller, ErrorCode::sequence_gap,
                    "Sequence number " + std::to_string(head.sequence) +
                        " leaves a gap: the server expects " + std::to_string(admission.expected) +
                        "; send that request and all after it again.");
    case Kind::forgotten: {
      auto limit = reached("unanswered-max", options_);
      return refuse(caller, {ErrorCode::sequence_forgotten,
                             "Sequence number " + std::to_string(head.sequence) +
                                 " was applied, but its reply is gone: the server keeps as many "
                                 "replies as " +
                                 to_string(limit) + " allows; go on with " +
                                 std::to_string(admission.expected) + ".",
                             std::move(limit)});
    }
  }
}

void RequestHandler::execute(const Caller& caller, PreparedRequest& request) {
  const auto& problem = request.request.problem;
  if (problem && !protocol::consumes_sequence(problem->code)) return refuse(caller, *problem);
  if (problem) {
    sessions_.begin(caller.head.session, caller.head.sequence, request.request.hash);
    return answer(caller, protocol::ErrorReply{*problem, 0});
  }
  if (const auto* advance = std::get_if<protocol::AdvanceTick>(&request.request.body))
    return advance_tick(caller, advance->tau_us, request.request.hash);
  sessions_.begin(caller.head.session, caller.head.sequence, request.request.hash);
  if (const auto* remove = std::get_if<protocol::RemoveStream>(&request.request.body))
    if (auto refusal = refusal_of(caller, *remove)) return answer(caller, std::move(*refusal));
  if (!apply_in_slices(caller, request)) answer(caller, apply(caller, request));
}

SequencedReply RequestHandler::apply(const Caller& caller, PreparedRequest& request) {
  using Statuses = std::span<UpdateStatus>;
  const std::int64_t time_us_max = parts_.time.event_max_us();
  Processor& processor = parts_.tables.settled();
  parts_.tables.growth().let_grow(request.received.bytes.size());
  return std::visit<SequencedReply>(
      Overloaded{
          [&](const protocol::UpdateTags&, protocol::RowSet<TagUpdate>& set) {
            return apply_rows(set, [&](auto rows, Statuses statuses) {
              processor.update_tags(rows, time_us_max, statuses, tag_owner(caller));
              note_change(set, std::span<const UpdateStatus>(statuses),
                          tag_owner(caller).may_change_others);
            });
          },
          [&](const protocol::RemoveObjects&, protocol::RowSet<ObjectRemoval>& set) {
            return apply_rows(set, [&](auto rows, Statuses statuses) {
              processor.remove_objects(rows, time_us_max, statuses);
              note_change(set, std::span<const UpdateStatus>(statuses));
            });
          },
          [&](const protocol::PutQueries& body, protocol::RowSet<QueryDefinition>& set) {
            return put_queries(caller, body, set);
          },
          [&](const protocol::RemoveQueries& body, std::monostate) {
            return remove_queries(caller, body);
          },
          [&](const protocol::PutNames& body, std::monostate) {
            std::vector<RowReason> reasons(body.ids.size());
            put_names(caller, body, 0, reasons);
            note_change(body, std::span<const RowReason>(reasons));
            return protocol::summarize(reasons);
          },
          [&](const protocol::PutStream& body, std::monostate) { return put_stream(caller, body); },
          [&](const protocol::RemoveStream& body, std::monostate) {
            const StreamId stream = *processor.queries().find_stream(body.name);
            begin_remove_stream(stream);
            while (!processor.remove_some(stream, options_.limits.rows_max)) continue;
            note_change(body);
            return protocol::Done{};
          },
          [](const auto&, const auto&) -> SequencedReply {
            assertion_failed("a sequenced request and its rows are one of the pairs above");
          },
      },
      request.request.body, request.rows);
}

template <class Row, class Apply>
protocol::BatchReply RequestHandler::apply_rows(protocol::RowSet<Row>& set, Apply apply) {
  const std::int64_t since_us = parts_.executor.now_us();
  std::vector<UpdateStatus> statuses(set.rows.size());
  apply(std::span<const Row>(set.rows), std::span<UpdateStatus>(statuses));
  protocol::merge_statuses<UpdateStatus>(statuses, set.reasons);
  protocol::BatchReply reply = protocol::summarize(set.reasons, set.columns);
  parts_.metrics.applied(parts_.executor.ms_since(since_us));
  return reply;
}

protocol::ErrorReply RequestHandler::too_many_streams(protocol::ReachedLimit limit) const {
  std::string sentence = "There are as many streams as " + to_string(limit) +
                         " allows; put the queries into one that exists, remove one with "
                         "RemoveStream (its place is free after the next tick at the latest), or ";
  sentence += is_quota(limit) ? "ask the server's owner to raise your quota in the keys file."
                              : "start the server with a larger --" + limit.name + ".";
  return {{ErrorCode::too_many_streams, std::move(sentence), std::move(limit)}, 0};
}

SequencedReply RequestHandler::put_stream(const Caller& caller,
                                          const protocol::PutStream& request) {
  const auto known = parts_.tables.settled().queries().find_stream(request.name);
  if (known)
    if (auto refusal = refusal_of_owner(caller, *known)) return *std::move(refusal);
  if (!known && parts_.tables.growth().is_short())
    return too_many_streams(reached("memory-bytes-max", options_));
  if (!known)
    if (auto limit = stream_limit(caller)) return too_many_streams(*std::move(limit));
  const StreamStatus status = parts_.tables.settled().put_stream({.name = std::string(request.name),
                                                                  .on = request.on,
                                                                  .with = request.with,
                                                                  .owner = owner_of(caller)});
  switch (status) {
    case StreamStatus::accepted:
      note_change(request);
      if (!known) {
        ++streams_taken(caller);
        parts_.publisher.open(*parts_.tables.settled().queries().find_stream(request.name));
      }
      return protocol::Done{};
    case StreamStatus::bad_name:
      return error_reply(ErrorCode::bad_text, "A stream's name has 1 to 255 bytes and no NUL.");
    case StreamStatus::too_many_streams:
      return too_many_streams(reached("streams-max", options_));
  }
  assertion_failed("every stream status is answered");
}

std::optional<SequencedReply> RequestHandler::refusal_of(const Caller& caller,
                                                         const protocol::RemoveStream& request) {
  const QueryTable& queries = parts_.tables.settled().queries();
  const auto stream = queries.find_stream(request.name);
  if (!stream) return unknown_stream(request.name);
  if (auto refusal = refusal_of_owner(caller, *stream)) return *std::move(refusal);
  const std::uint64_t foreign = queries.foreign_query_count(*stream);
  if (foreign > 0 && !query_owner(caller).may_change_others)
    return error_reply(ErrorCode::not_allowed,
                       "The stream has " + std::to_string(foreign) +
                           " queries of other principals, which would be removed with it; wait "
                           "until they are removed, or ask an admin to remove the stream.");
  if (const std::uint64_t count = queries.query_count(*stream); count > options_.limits.rows_max) {
    auto limit = reached("rows-max", options_);
    return error_reply(ErrorCode::too_many_rows,
                       "The stream has " + std::to_string(count) +
                           " queries, and one request removes at most " + to_string(limit) +
                           "; remove some with RemoveQueries first.",
                       std::move(limit));
  }
  return std::nullopt;
}

/// Removes the stream, but not its queries.
void RequestHandler::begin_remove_stream(StreamId stream) {
  Processor& processor = parts_.tables.settled();
  const std::uint64_t owner = processor.queries().stream(stream).owner;
  if (parts_.has_keys)
    accounts_.give_back_stream(static_cast<PrincipalId>(owner));
  else
    sessions_.give_back_stream(owner);
  losses_.drop_stream(stream);
  processor.begin_remove_stream(stream);
}

void RequestHandler::let_grow_for(const protocol::RowSet<QueryDefinition>& set) {
  std::uint64_t neighbors = 0;
  for (const QueryDefinition& row : set.rows) neighbors += row.k;
  parts_.tables.growth().let_grow(set.rows.size() * memory_bytes_per_query +
                                  neighbors * memory_bytes_per_neighbor);
}

SequencedReply RequestHandler::put_queries(const Caller& caller,
                                           const protocol::PutQueries& request,
                                           protocol::RowSet<QueryDefinition>& set) {
  const auto stream = parts_.tables.settled().queries().find_stream(request.stream);
  if (!stream) return unknown_stream(request.stream);
  let_grow_for(set);
  if (auto refusal = protocol::set_leases(request, parts_.time.base_us(), set))
    return protocol::ErrorReply{std::move(*refusal), 0};
  std::vector<QueryStatus> statuses(set.rows.size());
  parts_.tables.settled().put_queries(*stream, set.rows, statuses, query_owner(caller));
  note_change(request.stream, set, std::span<const QueryStatus>(statuses));
  protocol::merge_statuses<QueryStatus>(statuses, set.reasons);
  return protocol::summarize(set.reasons, set.columns);
}

SequencedReply RequestHandler::remove_queries(const Caller& caller,
                                              const protocol::RemoveQueries& request) {
  const auto stream = parts_.tables.settled().queries().find_stream(request.stream);
  if (!stream) return unknown_stream(request.stream);
  std::vector<RowReason> reasons(request.ids.size());
  remove_query_rows(caller, *stream, request.ids, reasons);
  note_change(request, std::span<const RowReason>(reasons));
  return protocol::summarize(reasons);
}

/// Removes the queries that the caller may remove. `reasons` has an entry for each id.
void RequestHandler::remove_query_rows(const Caller& caller, StreamId stream,
                                       std::span<const std::uint64_t> ids,
                                       std::span<RowReason> reasons) {
  std::vector<QueryId> own;
  own.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (caller.principal->may_use_query(ids[i]))
      own.push_back(QueryId{ids[i]});
    else
      reasons[i] = RowReason::not_allowed;
  std::vector<QueryStatus> statuses(own.size());
  parts_.tables.processor().remove_queries(stream, own, statuses, query_owner(caller));
  protocol::merge_statuses<QueryStatus>(statuses, reasons);
}

/// Puts the names from `first` on, as many as `reasons` has entries.
void RequestHandler::put_names(const Caller& caller, const protocol::PutNames& request,
                               std::size_t first, std::span<RowReason> reasons) {
  const std::uint64_t session = caller.head.session;
  const Principal& principal = *caller.principal;
  std::uint64_t of_ended_session = 0;
  std::uint64_t& taken = parts_.has_keys               ? accounts_.of(principal.id).names
                         : sessions_.contains(session) ? sessions_.taken(session).names
                                                       : of_ended_session;
  const auto& quota = principal.quotas.names;
  const NameTable::Teller teller{.names = taken,
                                 .names_max = quota.value_or(options_.sessions.names_max),
                                 .too_many = quota ? RowReason::too_many_names_of_principal
                                                   : RowReason::too_many_names_of_session,
                                 .owner = static_cast<std::uint32_t>(principal.id),
                                 .may_change_others = principal.has(Role::admin)};
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const std::uint64_t id = request.ids[first + i];
    reasons[i] = principal.may_use_object(id)
                     ? parts_.tables.names().put(ObjectId{id}, request.texts[first + i], teller)
                     : RowReason::not_allowed;
  }
}

void RequestHandler::advance_tick(const Caller& caller, std::int64_t tau_us, std::uint64_t hash) {
  const auto use_up = [&] { sessions_.begin(caller.head.session, caller.head.sequence, hash); };
  if (!parts_.time.is_manual()) {
    use_up();
    return answer(caller, error_reply(ErrorCode::not_manual,
                                      "This server ticks by the wall clock; to advance ticks by "
                                      "requests, start it with --tick manual."));
  }
  const auto finished = [this](const TickOutcome& outcome) {
    const Caller to = std::move(advancing_.front());
    advancing_.pop_front();
    answer(to, reply_to_tick(outcome));
    if (parts_.journal != nullptr) parts_.journal->commit_now();  // the reply waits for it
  };
  record_session_late(caller);
  const TickBegunRecord mark{
      .session = caller.head.session, .sequence = caller.head.sequence, .body_hash = hash};
  switch (parts_.ticker.advance(tau_us, mark, finished)) {
    case Ticker::Begun::begun:
      use_up();
      advancing_.push_back(caller);
      return;
    case Ticker::Begun::busy:
      return refuse(caller, ErrorCode::busy,
                    "A tick is under way; wait for its TickDone, then send this request again.");
    case Ticker::Begun::tau_too_early:
      use_up();
      return answer(
          caller,
          error_reply(ErrorCode::tau_too_early,
                      "This server has already ticked at " +
                          time_text(*parts_.tables.settled().last_tau_us()) +
                          ", and its ticks never go back. Advance it to that time or later. A "
                          "server that starts without a log, or with a new one, begins at any "
                          "time."));
    case Ticker::Begun::tau_too_late: {
      protocol::ReachedLimit limit{"tau-step-max",
                                   static_cast<std::uint64_t>(options_.tau_step_max_us)};
      std::string sentence =
          "tau_us is " + time_text(tau_us) + ", and the server's time is " +
          time_text(parts_.time.step_base_us()) + "; one request moves it by at most " +
          to_string(limit) +
          " microseconds. Check that tau_us is in microseconds, advance in several steps, or start "
          "the server with a longer --tau-step-max.";
      use_up();
      return answer(caller,
                    error_reply(ErrorCode::bad_value, std::move(sentence), std::move(limit)));
    }
  }
}

void RequestHandler::answer(const Caller& caller, SequencedReply reply) {
  count(caller, reply);
  const protocol::Frame frame = encode_reply(caller, reply);
  record(caller, frame);
  send_with_place(caller, frame);
  sessions_.answered(caller.head.session, caller.head.sequence, std::move(reply));
}

/// Counts the reply in the metrics. If rows were rejected because of a limit, adds the limit's name
/// and value to the reply.
void RequestHandler::count(const Caller& caller, SequencedReply& reply) {
  std::visit(Overloaded{
                 [&](protocol::BatchReply& batch) {
                   parts_.metrics.rows(RowReason::none, batch.accepted);
                   parts_.metrics.rows(RowReason::late, batch.late);
                   for (protocol::ReasonCount& each : batch.reasons) {
                     parts_.metrics.rows(each.reason, each.count);
                     each.limit = limit_of(each.reason, caller);
                   }
                   audit_rows(caller, batch);
                 },
                 [&](const protocol::ErrorReply& error) {
                   parts_.metrics.refused(error.problem.code);
                   if (error.problem.code == ErrorCode::not_allowed)
                     audit_refusal(caller, error.problem.sentence);
                   if (spdlog::should_log(spdlog::level::debug) && may_log(caller.peer))
                     spdlog::debug("session {} sequence {}: {}",
                                   sessions_.number_of(caller.head.session), caller.head.sequence,
                                   error.problem.sentence);
                 },
                 [](const protocol::Done&) {},
                 [](const protocol::TickDone&) {},
             },
             reply);
}

protocol::Frame RequestHandler::encode_reply(const Caller& caller,
                                             const SequencedReply& reply) const {
  protocol::ReplyHead head = caller.reply_head();
  if (parts_.journal != nullptr) head.place = parts_.journal->end();
  return std::visit(
      Overloaded{
          [&](const protocol::ErrorReply& error) {
            protocol::ErrorReply with_expected = error;
            with_expected.sequence_expected =
                sessions_.next_sequence(caller.peer.connection, caller.head.session);
            return protocol::encode_error(head, with_expected);
          },
          [&](const protocol::BatchReply& batch) {
            return protocol::encode_batch_reply(head, batch);
          },
          [&](const protocol::Done&) { return protocol::encode_done(head); },
          [&](const protocol::TickDone& done) { return protocol::encode_tick_done(head, done); },
      },
      reply);
}

void RequestHandler::send_reply(const Caller& caller, const SequencedReply& reply) {
  send_when_logged(caller, encode_reply(caller, reply));
}

}  // namespace starling::stream
