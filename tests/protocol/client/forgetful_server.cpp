// SPDX-License-Identifier: Apache-2.0
// Writes requests as texts, and checks their session and stream: see forgetful_server.hpp.
#include "tests/protocol/client/forgetful_server.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace starling::protocol::test {
namespace {

std::string text_of(std::span<const std::uint64_t> ids) {
  std::string text;
  for (const std::uint64_t id : ids) text += " " + std::to_string(id);
  return text;
}

std::string in_order(const std::map<std::uint64_t, std::string>& texts) {
  std::string all;
  for (const auto& [id, text] : texts) all += " " + std::to_string(id) + text;
  return all;
}

std::string text_of(const UpdateBatch& batch) {
  std::string text = "update";
  for (std::size_t row = 0; row < batch.ids.size(); ++row) {
    const std::size_t x = row * batch.components_a_row();
    const double value = batch.coordinates.empty() ? static_cast<double>(batch.coordinates_f32[x])
                                                   : batch.coordinates[x];
    text += " " + std::to_string(batch.ids[row]) + "@" + std::to_string(std::int64_t(value)) + "/" +
            std::to_string(batch.times_us[row]);
    const auto entry = [&](auto array, RowColumn column) {
      if (batch.row_columns.empty()) return array.subspan(std::min(row, array.size()));
      const bool has_entry = (batch.row_columns[row] & column) != 0;
      return has_entry ? array.subspan(entries_in(batch, column, 0, row)) : array.first(0);
    };
    const auto tags = entry(batch.tags, tags_column);
    const auto labels = entry(batch.labels, label_column);
    const auto values = entry(batch.values, value_column);
    if (!tags.empty()) text += " tags " + std::to_string(tags[0]);
    if (!labels.empty()) text += " label " + std::to_string(labels[0]);
    if (!values.empty()) text += " value " + std::to_string(std::int64_t(values[0]));
  }
  return text;
}

std::string text_of(const PutNames& names) {
  std::map<std::uint64_t, std::string> texts;
  for (std::size_t row = 0; row < names.ids.size(); ++row)
    texts[names.ids[row]] = "=" + std::string(names.texts[row]);
  return "names" + in_order(texts);
}

std::string text_of(const PutQueries& request) {
  std::map<std::uint64_t, std::string> texts;
  for (const QuerySpec& query : request.queries)
    texts[to_number(query.id)] = ":k" + std::to_string(query.k);
  return "queries " + std::string(request.stream) + in_order(texts);
}

std::string text_of(const RequestBody& body) {
  if (const auto* update = std::get_if<UpdateBatch>(&body)) return text_of(*update);
  if (const auto* tags = std::get_if<UpdateTags>(&body)) return "tags" + text_of(tags->ids);
  if (const auto* rows = std::get_if<RemoveObjects>(&body)) return "remove" + text_of(rows->ids);
  if (const auto* names = std::get_if<PutNames>(&body)) return text_of(*names);
  if (const auto* queries = std::get_if<PutQueries>(&body)) return text_of(*queries);
  if (const auto* queries = std::get_if<RemoveQueries>(&body))
    return "remove queries " + std::string(queries->stream) + text_of(queries->ids);
  if (const auto* stream = std::get_if<PutStream>(&body))
    return "stream " + std::string(stream->name) +
           (stream->on == ReportOn::distance ? " on=distance" : "") +
           (stream->with.tags ? " with=tags" : "");
  if (const auto* stream = std::get_if<RemoveStream>(&body))
    return "remove stream " + std::string(stream->name);
  return std::holds_alternative<GetStats>(body) ? "stats" : "another request";
}

/// Returns the name of the stream that the request needs, or an empty text.
std::string_view stream_of(const RequestBody& body) {
  if (const auto* queries = std::get_if<PutQueries>(&body)) return queries->stream;
  if (const auto* queries = std::get_if<RemoveQueries>(&body)) return queries->stream;
  return {};
}

BatchReply reply_to(const RequestBody& body) {
  BatchReply reply{.accepted = credit_rows(body)};
  const auto* update = std::get_if<UpdateBatch>(&body);
  if (update == nullptr) return reply;
  for (std::size_t row = 0; row < update->ids.size(); ++row) {
    if (update->ids[row] < ForgetfulServer::rejected_ids_min) continue;
    --reply.accepted;
    ++reply.rejected;
    reply.first_rejected.push_back(
        {.index = static_cast<std::uint32_t>(row), .reason = RowReason::future});
  }
  if (reply.rejected > 0) reply.reasons = {{RowReason::future, reply.rejected}};
  return reply;
}

}  // namespace

ForgetfulServer::ForgetfulServer(zmq::context_t& context, const Limits& limits)
    : limits_(limits),
      fake_(
          context, [this](const DecodedRequest& request) { return answer(request); },
          "tcp://127.0.0.1:*", limits) {}

ClientOptions ForgetfulServer::options() const {
  return {.commands = fake_.endpoint(), .timeout_ms = 10'000, .reconnect_after_ms = 10'000};
}

void ForgetfulServer::restart() {
  const std::scoped_lock lock(mutex_);
  ++epoch_;
  streams_.clear();
}

void ForgetfulServer::refuse(const std::string& text, ErrorCode code) {
  const std::scoped_lock lock(mutex_);
  refusals_[text] = code;
}

void ForgetfulServer::refuse_nothing() {
  const std::scoped_lock lock(mutex_);
  refusals_.clear();
}

std::vector<std::string> ForgetfulServer::take_requests() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(requests_, {});
}

std::optional<Frame> ForgetfulServer::answer(const DecodedRequest& request) {
  const std::scoped_lock lock(mutex_);
  const ReplyHead head{request.head.request_id, request.head.sequence};
  const RequestBody& body = request.body;
  const auto refusal = [&](ErrorCode code) {
    return encode_error(head, {{code, "No."}, request.head.sequence + 1});
  };
  if (request.problem) return refusal(request.problem->code);
  // Each epoch has one session, with the epoch's number.
  if (std::holds_alternative<Hello>(body)) return hello_reply(epoch_, epoch_, limits_);
  if (request.head.session != epoch_) return refusal(ErrorCode::unknown_session);
  const std::string text = text_of(body);
  requests_.push_back(text);
  if (const auto refused = refusals_.find(text); refused != refusals_.end())
    return refused->second == ErrorCode::none ? std::nullopt
                                              : std::optional(refusal(refused->second));
  const std::string_view stream = stream_of(body);
  if (!stream.empty() && !streams_.contains(std::string(stream)))
    return refusal(ErrorCode::unknown_stream);
  if (const auto* put = std::get_if<PutStream>(&body)) streams_.insert(std::string(put->name));
  if (const auto* gone = std::get_if<RemoveStream>(&body)) streams_.erase(std::string(gone->name));
  if (is_batch(body)) return encode_batch_reply(head, reply_to(body));
  if (std::holds_alternative<GetStats>(body)) return encode_stats(head, {{{"ticks_total", 3}}});
  return encode_done(head);
}

}  // namespace starling::protocol::test
