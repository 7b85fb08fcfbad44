// SPDX-License-Identifier: Apache-2.0
// Writes the outcomes of rows as JSON, and errors as problems: see replies.hpp.
#include "starling/stream/http/replies.hpp"

#include <algorithm>
#include <variant>

#include "starling/stream/http/problem.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

protocol::ReachedLimit limit_of(const protocol::BatchReply& batch, RowReason reason) {
  const auto found = std::ranges::find(batch.reasons, reason, &protocol::ReasonCount::reason);
  return found == batch.reasons.end() ? protocol::ReachedLimit{} : found->limit;
}

}  // namespace

HttpAnswer json_answer(JsonText& json) {
  return {.content_type = "application/json", .body = json.take() + "\n"};
}

HttpAnswer refusal_answer(const protocol::ReplyBody& reply) {
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply))
    return problem_answer(error->problem);
  return problem_answer(503, "The server gave no answer to this request; send it again.");
}

HttpAnswer rejected_answer(std::string_view what, const protocol::BatchReply& batch) {
  const RowReason reason = batch.reasons.empty() ? RowReason::none : batch.reasons.front().reason;
  const auto limit = limit_of(batch, reason);
  std::string sentence(what);
  sentence.append(" is refused: ").append(to_string(reason));
  if (!limit.name.empty())
    sentence.append(", because of the limit ").append(protocol::to_string(limit));
  const unsigned status = reason == RowReason::unknown_query ? 404 : limit.name.empty() ? 400 : 429;
  return problem_answer(status, sentence + ".", to_string(reason));
}

void RowOutcomes::add(const protocol::BatchReply& batch, std::span<const std::uint32_t> indexes) {
  accepted_ += batch.accepted;
  late_ += batch.late;
  const std::uint64_t rejected_before = rejected_;
  for (const protocol::RejectedRow& row : batch.first_rejected)
    reject(indexes.empty() ? row.index : indexes[row.index], row.reason,
           limit_of(batch, row.reason));
  rejected_ = rejected_before + batch.rejected;  // not all of them are listed
}

void RowOutcomes::reject(std::uint32_t index, RowReason reason,
                         const protocol::ReachedLimit& limit) {
  ++rejected_;
  if (first_rejected_.size() < 2 * protocol::rejected_rows_listed_max)
    first_rejected_.push_back({index, reason, limit});
}

HttpAnswer RowOutcomes::answer() const {
  auto listed = first_rejected_;
  std::ranges::stable_sort(listed, {}, &Rejected::index);
  if (listed.size() > protocol::rejected_rows_listed_max)
    listed.resize(protocol::rejected_rows_listed_max);
  JsonText json;
  json.begin_object().key("accepted").number(accepted_).key("late").number(late_);
  json.key("rejected").number(rejected_).key("reasons").begin_array();
  for (const Rejected& row : listed) {
    json.begin_object().key("index").number(std::uint64_t{row.index});
    json.key("reason").text(to_string(row.reason));
    if (!row.limit.name.empty())
      json.key("limit").text(row.limit.name).key("limit_value").number(row.limit.value);
    json.end_object();
  }
  json.end_array().end_object();
  return json_answer(json);
}

}  // namespace starling::stream
