// SPDX-License-Identifier: Apache-2.0
// Turns a received frame into rows for the tables: see prepare.hpp. Server calls it.
#include "starling/stream/requests/prepare.hpp"

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/access/rights.hpp"
#include "starling/stream/requests/request_table.hpp"

namespace starling::stream {

namespace {

protocol::Problem out_of_credit(protocol::ReachedLimit limit) {
  std::string sentence =
      "With this batch, the session's unanswered batches would exceed its credit, " +
      to_string(limit) + "; wait for replies, then send this batch and all after it again.";
  return {protocol::ErrorCode::out_of_credit, std::move(sentence), std::move(limit)};
}

void prepare(PreparedRequest& prepared, const protocol::Limits& limits,
             const protocol::ServedSpace& space, CreditLedger& ledger) {
  prepared.frame = protocol::AlignedBytes(prepared.received.bytes);
  prepared.request = protocol::decode_request(prepared.frame, limits);
  protocol::DecodedRequest& request = prepared.request;
  if (request.problem) return;
  request.problem = refusal_of(prepared.principal.get(), request.body);
  if (request.problem) return;
  const auto convert = [&]() -> std::optional<protocol::Problem> {
    const RequestRow& row = row_of(request.body);
    return row.prepare == nullptr ? std::nullopt : row.prepare(prepared, space);
  };
  if (!protocol::is_batch(request.body)) {
    request.problem = convert();
    return;
  }
  const Credit wanted{protocol::credit_rows(request.body), prepared.received.bytes.size()};
  switch (ledger.take(request.head.session, wanted)) {
    case CreditLedger::Taken::taken:
      prepared.credit = wanted;
      request.problem = convert();
      reject_foreign_rows(*prepared.principal, prepared.rows);
      break;
    case CreditLedger::Taken::beyond_rows:
      request.problem = out_of_credit({"credit-rows", ledger.granted().rows});
      break;
    case CreditLedger::Taken::beyond_bytes:
      request.problem = out_of_credit({"credit-bytes", ledger.granted().bytes});
      break;
    case CreditLedger::Taken::unknown_session:
      // The rows are not converted, so the loop must refuse the batch even if it has the session
      // now.
      request.problem = unknown_session();
      break;
  }
}

}  // namespace

protocol::Problem unknown_session() {
  return {protocol::ErrorCode::unknown_session,
          "The server does not know this session: the session was idle for too long, or the server "
          "was started again. Send Hello to open a session."};
}

PreparedRequest prepare_request(ReceivedBytes received, const protocol::Limits& limits,
                                const protocol::ServedSpace& space, CreditLedger& ledger,
                                std::shared_ptr<const Principal> principal) {
  PreparedRequest prepared;
  prepared.principal = std::move(principal);
  prepared.received = std::move(received);
  try {
    prepare(prepared, limits, space, ledger);
  } catch (const std::bad_alloc&) {
    prepared.rows = {};
    prepared.request.problem = protocol::out_of_memory();
  }
  return prepared;
}

}  // namespace starling::stream
