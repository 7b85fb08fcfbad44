// SPDX-License-Identifier: Apache-2.0
// Encodes, counts, records and sends replies: see replies.hpp.
#include "starling/stream/callers/replies.hpp"

#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/knn/base/overloaded.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;
using protocol::RowReason;

protocol::Problem unknown_stream(std::string_view stream) {
  return {ErrorCode::unknown_stream, "This server has no stream \"" + std::string(stream) +
                                         "\". Check the name, or make the stream first: with the "
                                         "command starling put stream NAME, or "
                                         "in a program with the request PutStream."};
}

void Replies::answer(const Caller& caller, SequencedReply reply) {
  count(caller, reply);
  const protocol::Frame frame = encode(caller, reply);
  log_.record(caller, frame);
  sender_.send_with_place(caller.peer, frame);
  sessions_.answered(caller.head.session, caller.head.sequence, std::move(reply));
}

void Replies::answer_again(const Caller& caller, const SequencedReply& reply) {
  sender_.send_when_logged(caller.peer, encode(caller, reply));
}

/// Counts the reply in the metrics. If rows were rejected because of a limit, adds the limit's name
/// and value to the reply.
void Replies::count(const Caller& caller, SequencedReply& reply) {
  std::visit(Overloaded{
                 [&](protocol::BatchReply& batch) { count(caller, batch); },
                 [&](const protocol::ErrorReply& error) { log_refusal(caller, error.problem); },
                 [](const protocol::Done&) {},
                 [](const protocol::TickDone&) {},
             },
             reply);
}

void Replies::count(const Caller& caller, protocol::BatchReply& reply) {
  metrics_.rows(RowReason::none, reply.accepted);
  metrics_.rows(RowReason::late, reply.late);
  for (protocol::ReasonCount& each : reply.reasons) {
    metrics_.rows(each.reason, each.count);
    each.limit = limit_of(each.reason, caller);
    if (each.reason == RowReason::not_allowed || each.reason == RowReason::not_owner)
      audit_refusal(caller, std::to_string(each.count) +
                                " rows rejected: " + std::string(to_string(each.reason)));
  }
}

void Replies::log_refusal(const Caller& caller, const protocol::Problem& problem) {
  metrics_.refused(problem.code);
  if (problem.code == ErrorCode::not_allowed) audit_refusal(caller, problem.sentence);
  if (!spdlog::should_log(spdlog::level::debug) || !may_log(caller.peer)) return;
  const bool is_sequenced = caller.head.sequence != 0;
  spdlog::debug("session {} {} {}: {}", sessions_.number_of(caller.head.session),
                is_sequenced ? "sequence" : "request",
                is_sequenced ? caller.head.sequence : caller.head.request_id, problem.sentence);
}

/// Returns the limit that rejects rows with `reason` now.
protocol::ReachedLimit Replies::limit_of(RowReason reason, const Caller& caller) const {
  if (auto quota = reached_quota(reason, *caller.principal); !quota.name.empty()) return quota;
  const bool is_of_memory =
      reason == RowReason::too_many_objects || reason == RowReason::too_many_queries ||
      reason == RowReason::too_many_neighbors || reason == RowReason::too_many_names;
  const bool are_lists_short = reason == RowReason::too_many_neighbors && growth_.are_lists_short();
  if ((growth_.is_short() && is_of_memory) || are_lists_short)
    return reached("memory-bytes-max", options_);
  return reached(reason, options_);
}

protocol::Frame Replies::encode(const Caller& caller, const SequencedReply& reply) const {
  protocol::ReplyHead head = caller.reply_head();
  if (log_.journal() != nullptr) head.place = log_.journal()->end();
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

void Replies::send_after(const Caller& caller, const protocol::Frame& frame,
                         std::uint64_t (AnswerPlaces::*place_of)(Tick) const, Tick tick) {
  const Journal* const journal = log_.journal();
  if (journal == nullptr) return send(caller, frame);
  const std::uint64_t place = (journal->places().*place_of)(tick);
  if (!journal->commits().is_durable(place) && journal->commits().is_full())
    return refuse_without_room(caller);
  sender_.send_when_durable(caller.peer, frame, place);
}

void Replies::refuse(const Caller& caller, ErrorCode code, std::string sentence) {
  refuse(caller, {code, std::move(sentence)});
}

void Replies::refuse(const Caller& caller, protocol::Problem problem) {
  log_refusal(caller, problem);
  const protocol::ErrorReply reply{
      std::move(problem), sessions_.next_sequence(caller.peer.connection, caller.head.session)};
  send(caller, protocol::encode_error(caller.reply_head(), reply));
}

void Replies::refuse_for_memory(const Caller& caller) {
  if (caller.head.sequence != 0) log_.check_memory();
  sessions_.take_back(caller.head.session, caller.head.sequence);
  if (may_log(caller.peer))
    spdlog::warn("session {} request {}: memory ran out", sessions_.number_of(caller.head.session),
                 caller.head.request_id);
  refuse(caller, protocol::out_of_memory());
}

void Replies::refuse_unanswered(const Caller& caller, const Answers& answers) {
  refuse(caller, ErrorCode::answer_failed, "The engine could not answer: " + answers.error + '.');
}

void Replies::refuse_without_room(const Caller& caller) {
  refuse(
      caller, ErrorCode::answer_failed,
      "The disk of the server's log is full, so the changes that this answer would show are not in "
      "the log yet; free space there, and ask again.");
}

bool Replies::may_log(const Peer& peer) {
  constexpr std::uint64_t all_peers = 0;
  constexpr std::uint64_t is_principal = std::uint64_t{1} << 63;  // no connection's number has it
  const std::uint64_t who = peer.principal == zmtp::PrincipalId::anonymous
                                ? peer.connection
                                : is_principal | static_cast<std::uint32_t>(peer.principal);
  const std::int64_t now_us = executor_.now_us();
  if (log_lines_.has_token(who, now_us) && all_log_lines_.take(all_peers, now_us))
    return log_lines_.take(who, now_us);
  metrics_.log_line_left_out();
  if (log_lines_left_out_++ == 0) log_lines_left_out_us_ = now_us;
  return false;
}

void Replies::expire(std::int64_t now_us) {
  constexpr std::int64_t report_us = 10'000'000;
  log_lines_.expire(now_us);
  all_log_lines_.expire(now_us);
  const std::int64_t passed_us = now_us - log_lines_left_out_us_;
  if (log_lines_left_out_ == 0 || passed_us < report_us) return;
  spdlog::info("{} further lines about clients in {} s were left out", log_lines_left_out_,
               passed_us / 1'000'000);
  log_lines_left_out_ = 0;
}

void Replies::audit_refusal(const Caller& caller, std::string_view what) {
  const std::string_view name = caller.principal ? std::string_view(caller.principal->name) : "";
  audit_.refused(name, caller.request, what, caller.peer.connection);
}

}  // namespace starling::stream
