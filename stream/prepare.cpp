// SPDX-License-Identifier: Apache-2.0
// Turns a received frame into rows for the tables: see prepare.hpp. Server calls it.
#include "starling/stream/prepare.hpp"

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/overloaded.hpp"

namespace starling::stream {

namespace {

RowSet<TagUpdate> convert(const protocol::UpdateTags& batch) {
  RowSet<TagUpdate> set;
  set.reasons.resize(batch.ids.size());
  set.rows.reserve(batch.ids.size());
  for (std::size_t row = 0; row < batch.ids.size(); ++row)
    set.rows.push_back({.id = ObjectId{batch.ids[row]},
                        .time_us = batch.times_us[row],
                        .set = batch.set[row],
                        .clear = batch.clear[row]});
  return set;
}

RowSet<ObjectRemoval> convert(const protocol::RemoveObjects& batch) {
  RowSet<ObjectRemoval> set;
  set.reasons.resize(batch.ids.size());
  set.rows.reserve(batch.ids.size());
  for (std::size_t row = 0; row < batch.ids.size(); ++row)
    set.rows.push_back({.id = ObjectId{batch.ids[row]}, .time_us = batch.times_us[row]});
  return set;
}

RowSet<QueryDefinition> convert(const protocol::PutQueries& batch, const ServedSpace& space) {
  RowSet<QueryDefinition> set;
  set.reasons.resize(batch.queries.size());
  set.rows.reserve(batch.queries.size());
  for (std::size_t row = 0; row < batch.queries.size(); ++row) {
    const protocol::QuerySpec& query = batch.queries[row];
    QueryDefinition definition{.id = query.id,
                               .k = query.k,
                               .anchor = {query.anchor, {}, query.object},
                               .filter = space.to_filter(query),
                               .subject = query.subject,
                               .vote = query.vote,
                               .regress = query.regress};
    if (query.anchor == AnchorKind::fixed)
      if (const auto fault =
              space.place(query, definition.anchor.position, definition.components)) {
        set.reject(row, fault->reason, fault->column);
        continue;
      }
    set.rows.push_back(std::move(definition));
  }
  return set;
}

PreparedRows convert_rows(const protocol::RequestBody& body, const ServedSpace& space) {
  return std::visit<PreparedRows>(
      Overloaded{
          [&](const protocol::UpdateBatch& batch) { return space.place(batch); },
          [](const protocol::UpdateTags& batch) { return convert(batch); },
          [](const protocol::RemoveObjects& batch) { return convert(batch); },
          [&](const protocol::PutQueries& batch) { return convert(batch, space); },
          [](const auto&) { return std::monostate(); },
      },
      body);
}

/// Appends the converted questions of `request` to `questions`. Returns std::nullopt, or why the
/// request is refused.
std::optional<protocol::Problem> convert_questions(const protocol::GetNeighbors& request,
                                                   const ServedSpace& space,
                                                   std::vector<OneShotQuery>& questions) {
  questions.reserve(request.questions.size());
  for (const protocol::QuerySpec& asked : request.questions) {
    OneShotQuery question{.k = asked.k,
                          .anchor = asked.anchor,
                          .position = {},
                          .filter = space.to_filter(asked),
                          .vote = asked.vote,
                          .regress = asked.regress};
    if (asked.anchor == AnchorKind::fixed)
      if (const auto fault = space.place(asked, question.position, question.components))
        return protocol::Problem{
            protocol::ErrorCode::bad_value,
            "Question " + std::to_string(questions.size()) + ": " + fault->sentence + "."};
    questions.push_back(std::move(question));
  }
  return std::nullopt;
}

protocol::Problem out_of_credit(protocol::ReachedLimit limit) {
  std::string sentence =
      "With this batch, the session's unanswered batches would exceed its credit, " +
      to_string(limit) + "; wait for replies, then send this batch and all after it again.";
  return {protocol::ErrorCode::out_of_credit, std::move(sentence), std::move(limit)};
}

void prepare(PreparedRequest& prepared, const protocol::Limits& limits, const ServedSpace& space,
             CreditLedger& ledger) {
  prepared.frame = protocol::AlignedBytes(prepared.received.bytes);
  prepared.request = protocol::decode_request(prepared.frame, limits);
  protocol::DecodedRequest& request = prepared.request;
  if (request.problem) return;
  if (const auto* neighbors = std::get_if<protocol::GetNeighbors>(&request.body))
    request.problem = convert_questions(*neighbors, space, prepared.questions);
  if (!protocol::is_batch(request.body)) return;

  const Credit wanted{protocol::credit_rows(request.body), prepared.received.bytes.size()};
  switch (ledger.take(request.head.session, wanted)) {
    case CreditLedger::Taken::taken:
      prepared.credit = wanted;
      prepared.rows = convert_rows(request.body, space);
      break;
    case CreditLedger::Taken::beyond_rows:
      request.problem = out_of_credit({"credit-rows", ledger.granted().rows});
      break;
    case CreditLedger::Taken::beyond_bytes:
      request.problem = out_of_credit({"credit-bytes", ledger.granted().bytes});
      break;
    case CreditLedger::Taken::unknown_session:
      // The batch's rows are not converted, so the batch is refused whatever the loop finds.
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
                                const ServedSpace& space, CreditLedger& ledger) {
  PreparedRequest prepared;
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
