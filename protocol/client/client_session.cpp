// SPDX-License-Identifier: Apache-2.0
// Sequence numbers, credit and resends: see client_session.hpp.
#include "starling/protocol/client/client_session.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "starling/knn/base/assert.hpp"
#include "starling/protocol/wire/check.hpp"
#include "starling/protocol/wire/request_codec.hpp"

namespace starling::protocol {
namespace {

Problem too_long(std::size_t bytes, const ReachedLimit& bytes_max, const RequestBody& body) {
  std::string sentence = "The request has " + std::to_string(bytes) + " bytes; at most " +
                         to_string(bytes_max) + " are allowed, so split it";
  if (const auto* batch = std::get_if<UpdateBatch>(&body); batch && batch->dimension != 0)
    sentence += ": some " +
                std::to_string(bytes_max.value * batch->ids.size() / (bytes + bytes / 64)) +
                " rows of dimension " + std::to_string(batch->dimension) + " fit";
  return {ErrorCode::frame_too_large, std::move(sentence) + ".", bytes_max};
}

/// Lowers limits that are of no use to a client. A FlatBuffer has less than 2 GiB, and the client
/// keeps each unanswered frame.
Limits lowered(Limits limits) {
  constexpr std::uint64_t bytes_ceiling = std::uint64_t{1} << 30;
  constexpr std::uint64_t rows_ceiling = std::uint64_t{1} << 28;
  constexpr std::uint32_t count_ceiling = 65'536;
  limits.frame_bytes_max = std::min<std::size_t>(limits.frame_bytes_max, bytes_ceiling);
  limits.credit_bytes = std::min(limits.credit_bytes, bytes_ceiling);
  limits.rows_max =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(limits.rows_max, rows_ceiling));
  limits.credit_rows = std::min(limits.credit_rows, rows_ceiling);
  limits.unanswered_max = std::min(limits.unanswered_max, count_ceiling);
  limits.k_max = std::min(limits.k_max, vector_k_max);
  limits.questions_max = std::min(limits.questions_max, count_ceiling);
  limits.text_bytes_max = std::min(limits.text_bytes_max, count_ceiling);
  limits.names_asked_max = std::min(limits.names_asked_max, count_ceiling);
  limits.page_rows_max = std::min(limits.page_rows_max, count_ceiling);
  return limits;
}

}  // namespace

Frame ClientSession::hello() const {
  Hello hello{.client = client_};
  if (server_) hello.resume_session = server_->session;
  hello.first_sequence = oldest_sequence();
  return encode_request({}, hello);
}

std::uint64_t ClientSession::oldest_sequence() const {
  const auto oldest = std::ranges::find_if(
      unanswered_, [](const Outgoing& outgoing) { return outgoing.sequence != 0; });
  return oldest == unanswered_.end() ? next_sequence_ : oldest->sequence;
}

std::optional<ClientSession::PutBack> ClientSession::on_hello(const HelloReply& reply) {
  std::optional<PutBack> put_back;
  if (lacks_acknowledged(reply)) put_back = begin_again(reply);
  server_name_ = reply.server;
  server_ = reply;
  server_->server = server_name_;
  server_->limits = lowered(reply.limits);
  for (Outgoing& outgoing : unanswered_) set_session(outgoing.frame, reply.session);
  return put_back;
}

/// Returns true if the server's log lacks a request that was acknowledged. Returns false if the
/// reply has no runs, because the server has no log or is older than runs: then only a new epoch
/// shows a loss.
bool ClientSession::lacks_acknowledged(const HelloReply& reply) const {
  if (acknowledged_sequence_ == 0 || reply.runs.empty()) return false;
  if (reply.resumed) return acknowledged_sequence_ >= reply.next_sequence;
  return !is_in_log(acknowledged_run_, acknowledged_place_, reply.runs);
}

ClientSession::PutBack ClientSession::begin_again(const HelloReply& reply) {
  const std::string last = std::to_string(acknowledged_sequence_);
  const std::string which =
      reply.resumed ? "the requests with the sequence numbers " +
                          std::to_string(reply.next_sequence) + " to " + last
                    : "this session with some of the requests up to sequence number " + last;
  PutBack put_back{.problem = {ErrorCode::log_put_back,
                               "The server's log was put back from a copy and lacks " + which +
                                   ", which were acknowledged. This request is not applied "
                                   "either. Send again what the server lacks.",
                               {}},
                   .request_ids = {}};
  std::erase_if(unanswered_, [&](const Outgoing& each) {
    if (each.sequence == 0 || each.sequence < reply.next_sequence) return false;
    credit_rows_held_ -= each.credit_rows;
    credit_bytes_held_ -= each.credit_bytes;
    put_back.request_ids.push_back(each.request_id);
    return true;
  });
  next_sequence_ = std::max<std::uint64_t>(reply.next_sequence, 1);
  acknowledged_run_ = acknowledged_place_ = acknowledged_sequence_ = 0;
  return put_back;
}

std::variant<Outgoing, Problem> ClientSession::prepare(const RequestBody& body) {
  check_invariant(server_.has_value(), "requests follow hello");
  const Limits& limits = server_->limits;
  const ReachedLimit rows_max =
      std::ranges::min(ReachedLimit{"rows-max", limits.rows_max},
                       ReachedLimit{"credit-rows", limits.credit_rows}, {}, &ReachedLimit::value);
  if (auto problem = check_row_count("rows", credit_rows(body), rows_max)) return *problem;
  const ReachedLimit bytes_max =
      std::ranges::min(ReachedLimit{"frame-bytes-max", limits.frame_bytes_max},
                       ReachedLimit{"credit-bytes", limits.credit_bytes}, {}, &ReachedLimit::value);
  // The length is also checked before encoding, because a batch of vectors may be longer than the
  // longest possible FlatBuffer.
  if (array_bytes(body) > bytes_max.value) return too_long(array_bytes(body), bytes_max, body);
  RequestHead head{.request_id = next_request_id_, .session = server_->session};
  if (is_sequenced(body)) head.sequence = next_sequence_;
  Outgoing outgoing;
  outgoing.request_id = head.request_id;
  outgoing.sequence = head.sequence;
  outgoing.frame = encode_request(head, body);
  if (outgoing.frame.size() > bytes_max.value)
    return too_long(outgoing.frame.size(), bytes_max, body);
  if (is_batch(body)) {
    outgoing.is_batch = true;
    outgoing.credit_rows = credit_rows(body);
    outgoing.credit_bytes = outgoing.frame.size();
  }
  return outgoing;
}

bool ClientSession::has_credit_for(const Outgoing& outgoing) const {
  const Limits& limits = server_->limits;
  // The server keeps the last unanswered_max replies. If the reply to the oldest request is lost
  // and later replies arrive, the server must still have the lost reply.
  const bool is_remembered =
      outgoing.sequence == 0 || outgoing.sequence - oldest_sequence() < limits.unanswered_max;
  return unanswered_.size() < limits.unanswered_max && is_remembered &&
         credit_rows_held_ + outgoing.credit_rows <= limits.credit_rows &&
         credit_bytes_held_ + outgoing.credit_bytes <= limits.credit_bytes;
}

const Outgoing& ClientSession::admit(Outgoing outgoing) {
  check_invariant(outgoing.request_id == next_request_id_, "requests are sent as prepared");
  ++next_request_id_;
  if (outgoing.sequence != 0) ++next_sequence_;
  credit_rows_held_ += outgoing.credit_rows;
  credit_bytes_held_ += outgoing.credit_bytes;
  set_session(outgoing.frame, server_->session);
  return unanswered_.emplace_back(std::move(outgoing));
}

std::optional<std::string> ClientSession::misfit(const Outgoing& asked, const ReplyBody& body) {
  if (!asked.is_batch || std::holds_alternative<ErrorReply>(body)) return std::nullopt;
  const auto* reply = std::get_if<BatchReply>(&body);
  if (reply == nullptr) return "answered a batch with a reply of another type";
  const std::uint64_t rows = asked.credit_rows;
  const bool is_sum = reply->accepted <= rows && reply->late <= rows - reply->accepted &&
                      reply->rejected == rows - reply->accepted - reply->late;
  const bool has_reasons = std::ranges::all_of(
      reply->reasons, [&](const ReasonCount& each) { return each.count <= reply->rejected; });
  const bool has_rows = std::ranges::all_of(
      reply->first_rejected, [&](const RejectedRow& row) { return row.index < rows; });
  if (is_sum && has_reasons && has_rows) return std::nullopt;
  return "answered a batch of " + std::to_string(rows) + " rows with counts of other rows";
}

ClientSession::Verdict ClientSession::on_reply(const ReplyHead& head, ErrorCode refusal) {
  const auto answered = std::ranges::find(unanswered_, head.request_id, &Outgoing::request_id);
  if (answered == unanswered_.end()) return Verdict::unexpected;
  switch (refusal) {
    case ErrorCode::unknown_session:
    case ErrorCode::sequence_gap:
    case ErrorCode::out_of_credit:
    case ErrorCode::shutting_down:
      return Verdict::start_again;
    case ErrorCode::busy:
      return answered->sequence == 0 ? Verdict::try_again : Verdict::start_again;
    default:
      break;
  }
  if (head.place != 0) {
    const std::uint64_t run = server_->runs.empty() ? 0 : server_->runs.front().id;
    if (std::exchange(acknowledged_run_, run) != run) acknowledged_place_ = 0;
    acknowledged_place_ = std::max(acknowledged_place_, head.place);
    acknowledged_sequence_ = std::max(acknowledged_sequence_, answered->sequence);
  }
  credit_rows_held_ -= answered->credit_rows;
  credit_bytes_held_ -= answered->credit_bytes;
  unanswered_.erase(answered);
  return Verdict::answered;
}

void ClientSession::abandon(std::uint64_t request_id) {
  std::erase_if(unanswered_, [&](const Outgoing& each) {
    return each.request_id == request_id && each.sequence == 0;
  });
}

const Outgoing* ClientSession::find(std::uint64_t request_id) const {
  const auto found = std::ranges::find(unanswered_, request_id, &Outgoing::request_id);
  return found == unanswered_.end() ? nullptr : &*found;
}

}  // namespace starling::protocol
