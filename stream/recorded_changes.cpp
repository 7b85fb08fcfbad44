// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that write to the server's log, and let replies wait for it. A
// record is appended when its request has been applied, with the reply: recovery needs no limit,
// clock or right to apply it again. Without a log, they do nothing but send. Also the last step of
// a server that starts with what its log holds.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/log/record.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

/// What a row takes in a record beside its text and its vector, at most.
constexpr std::uint64_t record_bytes_per_row = 128;
/// What a record takes beside its rows, at most.
constexpr std::uint64_t record_bytes_besides = std::uint64_t{1} << 20;

/// What a reply that waits takes beside its frame, about.
constexpr std::uint64_t held_bytes_per_reply = 256;

/// Returns the bytes of the texts or vectors of a request's rows. In a frame, rows may share one;
/// in a record, each has its own.
std::uint64_t shared_bytes(const protocol::RequestBody& body) {
  std::uint64_t bytes = 0;
  if (const auto* const names = std::get_if<protocol::PutNames>(&body))
    for (const std::string_view text : names->texts) bytes += text.size();
  if (const auto* const queries = std::get_if<protocol::PutQueries>(&body))
    for (const protocol::QuerySpec& query : queries->queries)
      bytes += query.vector.size() * sizeof(float);
  return bytes;
}

protocol::Problem too_long_for_log(std::uint64_t bytes) {
  return {ErrorCode::too_many_rows, "The record of this request in the server's log could have " +
                                        std::to_string(bytes) + " bytes, and at most " +
                                        std::to_string(log::payload_bytes_max) +
                                        " are possible; send fewer rows in one request."};
}

}  // namespace

/// Gives a request that changes something a problem if the log cannot take it now. A request that
/// was answered before is answered again. Returns whether it did.
bool RequestHandler::refuse_without_log(const Caller& caller, PreparedRequest& request) {
  if (parts_.journal == nullptr || request.request.problem) return false;
  const protocol::RequestBody& body = request.request.body;
  if (std::holds_alternative<protocol::EndSession>(body)) {
    if (unrecorded_sessions_.contains(caller.head.session)) return false;
    if (auto refusal = parts_.journal->refusal_of_session())
      request.request.problem = protocol::Problem{ErrorCode::busy, *std::move(refusal)};
    return request.request.problem.has_value();
  }
  if (!request.request.sequenced) return false;
  const auto& head = caller.head;
  const auto kind = sessions_.admit(head.session, head.sequence, request.request.hash).kind;
  if (kind != SessionTable::Admission::Kind::fresh) return false;
  const std::uint64_t bytes = 2 * request.received.bytes.size() + shared_bytes(body) +
                              protocol::credit_rows(body) * record_bytes_per_row +
                              record_bytes_besides;
  if (parts_.journal->refusal())
    request.request.problem = protocol::Problem{ErrorCode::busy, *parts_.journal->refusal()};
  else if (bytes > log::payload_bytes_max)
    request.request.problem = too_long_for_log(bytes);
  return request.request.problem.has_value();
}

/// Tells the log whom the number of the caller's principal means.
void RequestHandler::know(const Caller& caller) {
  if (!caller.principal) return;
  parts_.journal->know(static_cast<std::uint32_t>(caller.principal->id), caller.principal->name);
}

/// The log gets the record of a session that begins while it has no room with the session's first
/// request that changes something. Sessions that only ask need no room.
void RequestHandler::record_begin_of_session(const Caller& caller,
                                             const SessionTable::Opened& opened,
                                             std::uint64_t first_sequence) {
  if (parts_.journal == nullptr) return;
  const std::uint64_t replaced = opened.replaced ? opened.replaced->session : 0;
  if (opened.resumed || parts_.journal->refusal_of_session()) {
    if (replaced != 0) record_end_of_session(replaced);
    if (!opened.resumed) unrecorded_sessions_[opened.session] = first_sequence;
    return;
  }
  know(caller);
  parts_.journal->append(
      SessionOpenedRecord{.session = opened.session,
                          .principal = static_cast<std::uint32_t>(caller.principal->id),
                          .first_sequence = first_sequence,
                          .replaced = unrecorded_sessions_.erase(replaced) == 0 ? replaced : 0});
}

/// Call it before a request of the session is appended.
void RequestHandler::record_session_late(const Caller& caller) {
  const auto session = unrecorded_sessions_.extract(caller.head.session);
  if (session.empty()) return;
  know(caller);
  parts_.journal->append(
      SessionOpenedRecord{.session = session.key(),
                          .principal = static_cast<std::uint32_t>(caller.principal->id),
                          .first_sequence = session.mapped(),
                          .replaced = 0});
}

void RequestHandler::record_end_of_session(std::uint64_t session) {
  if (parts_.journal == nullptr || unrecorded_sessions_.erase(session) != 0) return;
  parts_.journal->append(SessionEndedRecord{session});
}

/// Appends the request with what note_change() got since the last call.
void RequestHandler::record(const Caller& caller, const protocol::Frame& reply) {
  if (parts_.journal == nullptr) return;
  record_session_late(caller);
  know(caller);
  const auto hash = sessions_.body_hash_of(caller.head.session, caller.head.sequence);
  parts_.journal->append(
      RequestNote{
          .session = caller.head.session,
          .sequence = caller.head.sequence,
          .body_hash = hash,
          .principal = caller.principal ? static_cast<std::uint32_t>(caller.principal->id) : 0,
          .reply = reply.bytes()},
      change_);
  change_.clear();
}

/// Sends a reply when all that was appended so far is on the disk.
void RequestHandler::send_when_logged(const Caller& caller, const protocol::Frame& frame) {
  if (parts_.journal == nullptr) return parts_.send(caller.peer, frame);
  send_when_durable(caller.peer, frame, parts_.journal->end());
}

/// The same for the reply to a change: tells the place behind it.
void RequestHandler::send_with_place(const Caller& caller, protocol::Frame frame) {
  if (parts_.journal != nullptr) protocol::set_place(frame, parts_.journal->end());
  send_when_logged(caller, frame);
}

/// Sends the answer to a session that the log had no room for. If that is because the log has
/// failed, the server ends and answers nothing more.
void RequestHandler::send_without_record(const Caller& caller, const protocol::Frame& frame) {
  if (!parts_.journal->has_failed()) parts_.send(caller.peer, frame);
}

/// Sends an answer from a finished tick when the log is on the disk up to a place of that tick. If
/// the disk is full, refuses instead.
void RequestHandler::send_after(const Caller& caller, const protocol::Frame& frame,
                                std::uint64_t (Journal::*place_of)(Tick) const, Tick tick) {
  if (parts_.journal == nullptr) return parts_.send(caller.peer, frame);
  const std::uint64_t place = (parts_.journal->*place_of)(tick);
  if (!parts_.journal->is_durable(place) && parts_.journal->refusal())
    return refuse_without_room(caller);
  send_when_durable(caller.peer, frame, place);
}

void RequestHandler::refuse_without_room(const Caller& caller) {
  refuse(
      caller, ErrorCode::answer_failed,
      "The disk of the server's log is full, so the changes that this answer would show are not in "
      "the log yet; free space there, and ask again.");
}

/// If too many bytes wait for a slow disk, the reply is dropped, as for a client that does not
/// read. The client sends its request again, and is then answered. The server's own HTTP endpoint
/// does not send again, and has limits of its own.
void RequestHandler::send_when_durable(const Peer& peer, const protocol::Frame& frame,
                                       std::uint64_t place) {
  if (parts_.journal->is_durable(place)) return parts_.send(peer, frame);
  const std::uint64_t bytes = frame.size() + held_bytes_per_reply;
  if (!peer.in_process && waiting_bytes_ + bytes > options_.reply_bytes_max)
    return parts_.metrics.reply_dropped();
  waiting_bytes_ += bytes;
  parts_.journal->when_durable(place, [this, peer, frame, bytes] {
    waiting_bytes_ -= bytes;
    parts_.send(peer, frame);
  });
}

/// With a log, a request that is applied in part must not stay: what the tables hold would be
/// nothing that the log can give again.
void RequestHandler::check_memory_for_log() const {
  if (parts_.journal == nullptr) return;
  throw std::runtime_error(
      "memory ran out while a request was applied, and the log cannot hold a part of a request. "
      "The server stops. Give it more memory, or a lower --memory-bytes-max, and start it again: "
      "all that was acknowledged is in the log");
}

LoggedTables RequestHandler::logged_tables() {
  return {.processor = parts_.tables.processor(),
          .publisher = parts_.publisher,
          .sessions = sessions_,
          .names = parts_.tables.names(),
          .accounts = accounts_,
          .has_keys = parts_.has_keys,
          .now_us = parts_.executor.now_us(),
          .principal_id = parts_.principal_id};
}

/// A tick under way that fails now may have succeeded before, and subscribers may have its lists.
/// Nobody gets the messages of the tick that this adds, so subscribers see a gap and ask for all
/// lists.
void RequestHandler::skip_a_tick(LogReplay& replay, const std::string& error) {
  const TickBegunRecord mark{.tick = Tick{to_number(parts_.tables.processor().last_tick()) + 1},
                             .tau_us = *parts_.tables.processor().last_tau_us()};
  parts_.journal->append(mark);
  parts_.journal->append(TickFinishedRecord{mark.tick, error});
  replay.apply(JournalRecord(mark));
  replay.apply(JournalRecord(TickFinishedRecord{mark.tick, error}));
}

void RequestHandler::end_recovery(LogReplay& replay) {
  LogReplay::Open& open = replay.open();
  std::string failure;
  while (!open.ticks.empty()) {
    const Tick tick = open.ticks.front().tick;
    const std::string error = replay.finish_open_tick();
    parts_.journal->append(TickFinishedRecord{tick, error});
    if (error.empty()) continue;
    failure = error;
    spdlog::error("tick {}, which was under way when the server stopped, fails now: {}",
                  to_number(tick), error);
  }
  if (!failure.empty()) skip_a_tick(replay, failure);
  for (auto& [request, reply] : open.replies) {
    Caller caller;
    caller.head.session = request.first;
    caller.head.sequence = request.second;
    record(caller, encode_reply(caller, reply));
    sessions_.answered(request.first, request.second, std::move(reply));
  }
}

}  // namespace starling::stream
