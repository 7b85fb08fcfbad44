// SPDX-License-Identifier: Apache-2.0
// Checks before a request is applied that its record fits in the journal, and appends the record
// after that: see request_log.hpp.
#include "starling/stream/callers/request_log.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "starling/log/record.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

/// The most bytes that a row takes in a record, beside its text and its vector.
constexpr std::uint64_t record_bytes_per_row = 128;
/// The most bytes that a record takes beside its rows.
constexpr std::uint64_t record_bytes_besides = std::uint64_t{1} << 20;

/// Returns the bytes of the texts or vectors of a request's rows. In a frame, rows may share a text
/// or a vector. In a record, each row has its own.
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

std::vector<protocol::Run> RequestLog::runs() const {
  return journal_ == nullptr ? std::vector<protocol::Run>() : journal_->found().runs();
}

std::optional<protocol::Problem> RequestLog::refusal_of(const Caller& caller,
                                                        const protocol::RequestBody& body,
                                                        bool is_fresh, std::size_t bytes) const {
  if (journal_ == nullptr) return std::nullopt;
  const auto busy = [](std::optional<std::string> refusal) -> std::optional<protocol::Problem> {
    if (!refusal) return std::nullopt;
    return protocol::Problem{ErrorCode::busy, *std::move(refusal)};
  };
  if (std::holds_alternative<protocol::EndSession>(body))
    return has(caller.head.session) ? busy(journal_->commits().refusal_of_session()) : std::nullopt;
  if (!is_fresh) return std::nullopt;
  if (auto problem = busy(journal_->commits().refusal())) return problem;
  const std::uint64_t record_bytes = 2 * bytes + shared_bytes(body) +
                                     protocol::credit_rows(body) * record_bytes_per_row +
                                     record_bytes_besides;
  if (record_bytes > log::payload_bytes_max) return too_long_for_log(record_bytes);
  return std::nullopt;
}

/// Appends the name of the caller's principal, if this run of the log does not have it.
void RequestLog::know(const Caller& caller) {
  if (!caller.principal) return;
  journal_->know(static_cast<std::uint32_t>(caller.principal->id), caller.principal->name);
}

void RequestLog::record_begin_of_session(const Caller& caller, const SessionTable::Opened& opened,
                                         std::uint64_t first_sequence) {
  if (journal_ == nullptr) return;
  const std::uint64_t replaced = opened.replaced ? opened.replaced->session : 0;
  if (opened.resumed || journal_->commits().refusal_of_session()) {
    if (replaced != 0) record_end_of_session(replaced);
    if (!opened.resumed) unrecorded_[opened.session] = first_sequence;
    return;
  }
  know(caller);
  journal_->append(
      SessionOpenedRecord{.session = opened.session,
                          .principal = static_cast<std::uint32_t>(caller.principal->id),
                          .first_sequence = first_sequence,
                          .replaced = unrecorded_.erase(replaced) == 0 ? replaced : 0});
}

void RequestLog::record_session_late(const Caller& caller) {
  const auto session = unrecorded_.extract(caller.head.session);
  if (session.empty()) return;
  know(caller);
  journal_->append(
      SessionOpenedRecord{.session = session.key(),
                          .principal = static_cast<std::uint32_t>(caller.principal->id),
                          .first_sequence = session.mapped(),
                          .replaced = 0});
}

void RequestLog::record_end_of_session(std::uint64_t session) {
  if (journal_ == nullptr || unrecorded_.erase(session) != 0) return;
  journal_->append(SessionEndedRecord{session});
}

void RequestLog::record(const Caller& caller, const protocol::Frame& reply) {
  if (journal_ == nullptr) return;
  record_session_late(caller);
  know(caller);
  const auto hash = sessions_.body_hash_of(caller.head.session, caller.head.sequence);
  journal_->append(
      RequestNote{
          .session = caller.head.session,
          .sequence = caller.head.sequence,
          .body_hash = hash,
          .principal = caller.principal ? static_cast<std::uint32_t>(caller.principal->id) : 0,
          .reply = reply.bytes()},
      change_);
  change_.clear();
}

void RequestLog::check_memory() const {
  if (journal_ == nullptr) return;
  throw std::runtime_error(
      "memory ran out while a request was applied, and the log cannot hold a part of a request. "
      "The server stops. Give it more memory, or a lower --memory-bytes-max, and start it again: "
      "all that was acknowledged is in the log");
}

}  // namespace starling::stream
