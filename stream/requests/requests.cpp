// SPDX-License-Identifier: Apache-2.0
// Admits requests and calls their rows of the table: see requests.hpp.
#include "starling/stream/requests/requests.hpp"

#include <new>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/stream/access/rights.hpp"
#include "starling/stream/operation/limit_table.hpp"
#include "starling/stream/requests/request_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;
using Admission = SessionTable::Admission;

Requests::Requests(const ServerOptions& options, Callers::Parts callers, Families::Parts families)
    : options_(options),
      executor_(families.executor),
      tables_(families.tables),
      metrics_(families.metrics),
      callers_(options, std::move(callers)),
      families_(options, callers_, std::move(families)) {}

void Requests::handle(const Peer& peer, PreparedRequest request) {
  const protocol::DecodedRequest& decoded = request.request;
  Caller caller{peer, decoded.head, request.principal, name_of(decoded.body)};
  if (!decoded.sequenced) caller.head.sequence = 0;
  const std::uint64_t session = caller.head.session;
  SessionTable& sessions = callers_.sessions;
  const bool is_known = sessions.touch(peer.connection, session, executor_.now_us());
  // Decoding reports the error `busy` only if memory runs out.
  if (decoded.problem && decoded.problem->code == ErrorCode::busy) metrics_.decode_out_of_memory();
  const bool is_fresh =
      is_known && decoded.sequenced &&
      sessions.admit(session, caller.head.sequence, decoded.hash).kind == Admission::Kind::fresh;
  if (is_known) give_problem(caller, request, is_fresh);

  if (decoded.problem)
    callers_.owners.charge_refusal(caller, request.beside_us);
  else
    callers_.owners.charge(caller, request.beside_us);
  if (is_fresh) {
    try {
      if (families_.updates.add(caller, request)) return;
    } catch (const std::bad_alloc&) {  // nothing was changed
      callers_.stores.credit->give_back(session, request.credit);
      return callers_.replies.refuse(caller, protocol::out_of_memory());
    }
  }
  tables_.settled();  // updates that came before this request are applied and answered before it
  try {
    // Refusals are charged, too, so a client that repeats a request at once is served later than
    // one that waits.
    callers_.owners.charged(
        caller, [&] { handle_settled(caller, request, is_known); }, decoded.problem.has_value());
  } catch (const std::bad_alloc&) {
    callers_.replies.refuse_for_memory(caller);
  }
  callers_.stores.credit->give_back(session, request.credit);
}

/// Sets the problem of a request that its principal's rates or the log do not allow now. Requests
/// that were answered before pass, so that they are answered again.
void Requests::give_problem(const Caller& caller, PreparedRequest& request, bool is_fresh) {
  protocol::DecodedRequest& decoded = request.request;
  if (decoded.problem) return;
  decoded.problem = callers_.owners.beyond_rates(caller, decoded.body, is_fresh);
  if (!decoded.problem)
    decoded.problem =
        callers_.log.refusal_of(caller, decoded.body, is_fresh, request.received.bytes.size());
}

void Requests::handle_settled(const Caller& caller, PreparedRequest& request, bool is_known) {
  const protocol::DecodedRequest& decoded = request.request;
  const bool is_hello = std::holds_alternative<protocol::Hello>(decoded.body);
  // The reply must not show whether another connection's session exists or has credit. An error
  // that uses up a number is the session's too: a connection that has reconnected does not have it
  // yet.
  const bool is_of_session =
      decoded.problem &&
      (decoded.problem->code == ErrorCode::out_of_credit ||
       decoded.problem->code == ErrorCode::unknown_session ||
       (decoded.sequenced && protocol::consumes_sequence(decoded.problem->code)) ||
       (decoded.problem->code == ErrorCode::not_allowed && !is_hello));
  if (decoded.sequenced && is_known)
    handle_sequenced(caller, request);
  else if (!is_known && families_.sessions.has_guessed_too_often(caller, caller.head.session))
    families_.sessions.refuse_guess(caller);
  else if (decoded.problem && (is_known || !is_of_session))
    callers_.replies.refuse(caller, *decoded.problem);
  else if (is_known || (!decoded.problem && is_hello))
    row_of(decoded.body).carry_out(families_, caller, request);
  else
    families_.sessions.refuse_unknown(caller);
}

void Requests::handle_sequenced(const Caller& caller, PreparedRequest& request) {
  using Kind = Admission::Kind;
  const auto& head = caller.head;
  const std::string number = "Sequence number " + std::to_string(head.sequence);
  const Admission admission =
      callers_.sessions.admit(head.session, head.sequence, request.request.hash);
  switch (admission.kind) {
    case Kind::fresh:
      return handle_fresh(caller, request);
    case Kind::resend:
      return callers_.replies.answer_again(caller, *admission.reply);
    case Kind::unanswered:
      return families_.ticks.sent_again(caller);
    case Kind::different:
      return callers_.replies.refuse(
          caller, ErrorCode::bad_value,
          number +
              " was used for another request; send only the same request again with a number that "
              "was used, and go on with " +
              std::to_string(admission.expected) + ".");
    case Kind::gap:
      return callers_.replies.refuse(caller, ErrorCode::sequence_gap,
                                     number + " leaves a gap: the server expects " +
                                         std::to_string(admission.expected) +
                                         "; send that request and all after it again.");
    case Kind::forgotten: {
      auto limit = reached("unanswered-max", options_);
      return callers_.replies.refuse(
          caller,
          {ErrorCode::sequence_forgotten,
           number + " was applied, but its reply is gone: the server keeps as many replies as " +
               to_string(limit) + " allows; go on with " + std::to_string(admission.expected) + ".",
           std::move(limit)});
    }
  }
}

void Requests::handle_fresh(const Caller& caller, PreparedRequest& request) {
  const protocol::DecodedRequest& decoded = request.request;
  const auto& problem = decoded.problem;
  if (problem && !protocol::consumes_sequence(problem->code))
    return callers_.replies.refuse(caller, *problem);
  const RequestRow& row = row_of(decoded.body);
  if (problem || row.uses_number)
    callers_.sessions.begin(caller.head.session, caller.head.sequence, decoded.hash);
  if (problem) return callers_.replies.answer(caller, protocol::ErrorReply{*problem, 0});
  row.carry_out(families_, caller, request);
}

void Requests::refuse_malformed(const Peer& peer, std::shared_ptr<const Principal> principal,
                                std::int64_t us) {
  const Caller caller{.peer = peer, .head = {}, .principal = std::move(principal)};
  callers_.owners.charge_refusal(caller, us);
  callers_.replies.refuse(
      caller, ErrorCode::malformed,
      "A request must be one frame, or an empty frame and one frame from a REQ socket.");
}

LoggedTables Requests::logged_tables(
    Publisher& publisher, std::function<PrincipalId(const std::string& name)> principal_id) {
  return {.processor = tables_.processor(),
          .publisher = publisher,
          .sessions = callers_.sessions,
          .names = tables_.names(),
          .accounts = callers_.owners.accounts(),
          .has_keys = callers_.owners.has_keys(),
          .now_us = executor_.now_us(),
          .principal_id = std::move(principal_id)};
}

/// Adds a tick whose messages are never sent, so that subscribers see a gap and ask for all lists.
/// Like every tick, it removes queries that have outgrown a limit. `error`: why the tick fails;
/// empty: it succeeds if it can.
void Requests::add_tick(LogReplay& replay, std::string error) {
  Processor& processor = tables_.processor();
  const TickBegunRecord mark{.tick = Tick{to_number(processor.last_tick()) + 1},
                             .tau_us = *processor.last_tau_us()};
  Journal& journal = *callers_.log.journal();
  while (!processor.prepare_tick(mark.tau_us)) continue;
  std::vector<OutgrownQuery> removed;
  do {
    removed = tables_.outgrown().remove_some(mark.tick);
    journal.append_outgrown(mark.tick, removed, processor.queries());
  } while (removed.size() == OutgrownQueries::queries_at_once);
  journal.append(mark);
  replay.apply(JournalRecord(mark));
  if (error.empty())
    error = replay.finish_open_tick();
  else
    replay.apply(JournalRecord(TickFinishedRecord{mark.tick, error}));
  journal.append(TickFinishedRecord{mark.tick, error});
}

void Requests::end_recovery(LogReplay& replay, bool lacks_lists) {
  LogReplay::Open& open = replay.open();
  std::string failure;
  while (!open.ticks.empty()) {
    const Tick tick = open.ticks.front().tick;
    const std::string error = replay.finish_open_tick();
    callers_.log.journal()->append(TickFinishedRecord{tick, error});
    if (error.empty()) continue;
    failure = error;
    spdlog::error("tick {}, which was under way when the server stopped, fails now: {}",
                  to_number(tick), error);
  }
  // Subscribers may have the lists of a tick that has failed or was not searched, if it succeeded
  // before the restart.
  if (lacks_lists)
    add_tick(replay, {});
  else if (!failure.empty())
    add_tick(replay, failure);
  for (auto& [request, reply] : open.replies) {
    Caller caller;
    caller.head.session = request.first;
    caller.head.sequence = request.second;
    callers_.log.record(caller, callers_.replies.encode(caller, reply));
    callers_.sessions.answered(request.first, request.second, std::move(reply));
  }
}

void Requests::expire(std::int64_t now_us) {
  tables_.settled();
  families_.sessions.expire(now_us);
  callers_.replies.expire(now_us);
  callers_.stores.snapshots.expire(now_us);
}

std::optional<protocol::Problem> Requests::fault_of_stream(std::string_view stream) {
  if (tables_.settled().queries().find_stream(stream)) return std::nullopt;
  return unknown_stream(stream);
}

}  // namespace starling::stream
