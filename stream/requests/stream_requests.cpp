// SPDX-License-Identifier: Apache-2.0
// Checks owners and limits before a stream is made or removed, and lists streams page by page: see
// stream_requests.hpp.
#include "starling/stream/requests/stream_requests.hpp"

#include <string>
#include <variant>

#include "starling/knn/base/assert.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/operation/limit_table.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

/// Returns the number of streams that the principal may use.
std::size_t visible_streams(const QueryTable& queries, const Principal& principal) {
  if (principal.streams.empty()) return queries.stream_count();
  std::size_t count = 0;
  for (std::size_t number = 0; number < queries.stream_id_end(); ++number) {
    const auto id = static_cast<StreamId>(number);
    if (queries.is_live(id) && principal.may_use_stream(queries.stream(id).name)) ++count;
  }
  return count;
}

}  // namespace

void StreamRequests::put(const Caller& caller, const protocol::PutStream& request) {
  replies_.answer(caller, put_now(caller, request));
}

SequencedReply StreamRequests::put_now(const Caller& caller, const protocol::PutStream& request) {
  Processor& processor = tables_.settled();
  const auto known = processor.queries().find_stream(request.name);
  if (known) {
    if (auto refusal = owners_.refusal_of_owner(caller, *known))
      return protocol::ErrorReply{*std::move(refusal), 0};
  } else {
    if (!tables_.growth().let_grow(0))
      return too_many_streams(reached("memory-bytes-max", options_));
    if (auto limit = owners_.stream_limit(caller)) return too_many_streams(*std::move(limit));
  }
  const StreamStatus status = processor.put_stream({.name = std::string(request.name),
                                                    .on = request.on,
                                                    .with = request.with,
                                                    .owner = owners_.owner_of(caller)});
  switch (status) {
    case StreamStatus::accepted:
      log_.note_change(request);
      if (!known) {
        owners_.take_stream(caller);
        publisher_.open(*processor.queries().find_stream(request.name));
      }
      return protocol::Done{};
    case StreamStatus::bad_name:
      return protocol::ErrorReply{
          {ErrorCode::bad_text, "A stream's name has 1 to 255 bytes and no NUL."}, 0};
    case StreamStatus::too_many_streams:
      return too_many_streams(reached("streams-max", options_));
  }
  assertion_failed("every stream status is answered");
}

protocol::ErrorReply StreamRequests::too_many_streams(protocol::ReachedLimit limit) const {
  std::string sentence = "There are as many streams as " + to_string(limit) +
                         " allows; put the queries into one that exists, remove one with "
                         "RemoveStream (its place is free after the next tick at the latest), or ";
  sentence += is_quota(limit) ? "ask the server's owner to raise your quota in the keys file."
                              : "start the server with a larger --" + limit.name + ".";
  return {{ErrorCode::too_many_streams, std::move(sentence), std::move(limit)}, 0};
}

void StreamRequests::remove(const Caller& caller, PreparedRequest& request) {
  const auto& asked = std::get<protocol::RemoveStream>(request.request.body);
  if (auto refusal = refusal_of(caller, asked))
    return replies_.answer(caller, protocol::ErrorReply{*std::move(refusal), 0});
  const QueryTable& queries = tables_.processor().queries();
  const StreamId stream = *queries.find_stream(asked.name);
  const auto held = rows_.hold(caller, request);
  const auto& body = std::get<protocol::RemoveStream>(held->request.request.body);
  const auto rows = static_cast<std::size_t>(queries.query_count(stream));
  begin_remove(stream);
  rows_.run(held, {.rows = rows,
                   .step =
                       [this, stream](std::size_t rows_max) {
                         return tables_.processor().remove_some(stream, rows_max);
                       },
                   .finish = [this, &body]() -> SequencedReply {
                     log_.note_change(body);
                     return protocol::Done{};
                   }});
}

std::optional<protocol::Problem> StreamRequests::refusal_of(const Caller& caller,
                                                            const protocol::RemoveStream& request) {
  const QueryTable& queries = tables_.settled().queries();
  const auto stream = queries.find_stream(request.name);
  if (!stream) return unknown_stream(request.name);
  if (auto refusal = owners_.refusal_of_owner(caller, *stream)) return refusal;
  const std::uint64_t foreign = queries.foreign_query_count(*stream);
  if (foreign > 0 && !owners_.query_owner(caller).may_change_others)
    return protocol::Problem{
        ErrorCode::not_allowed,
        "The stream has " + std::to_string(foreign) +
            " queries of other principals, which would be removed with it; wait "
            "until they are removed, or ask an admin to remove the stream."};
  if (const std::uint64_t count = queries.query_count(*stream); count > options_.limits.rows_max) {
    auto limit = reached("rows-max", options_);
    return protocol::Problem{ErrorCode::too_many_rows,
                             "The stream has " + std::to_string(count) +
                                 " queries, and one request removes at most " + to_string(limit) +
                                 "; remove some with RemoveQueries first.",
                             std::move(limit)};
  }
  return std::nullopt;
}

/// Removes the stream, but not its queries, which remove_some() removes later.
void StreamRequests::begin_remove(StreamId stream) {
  Processor& processor = tables_.processor();
  owners_.give_back_stream(processor.queries().stream(stream).owner);
  losses_.drop_stream(stream);
  processor.begin_remove_stream(stream);
}

void StreamRequests::list(const Caller& caller, const protocol::ListStreams& request) {
  const std::size_t rows_max = pages_.rows_max(caller, request.rows_max);
  if (rows_max == 0) return;
  const std::int64_t since_us = pages_.now_us();
  const Processor& processor = tables_.settled();
  const QueryTable& queries = processor.queries();
  const Principal& principal = *caller.principal;
  protocol::Streams reply{.epoch = publisher_.epoch(),
                          .stream_count = visible_streams(queries, principal),
                          .streams = {}};
  Walk walk(request.page, queries.stream_id_end(), Walk::queries_walked_max);
  for (; walk.next < walk.page_end && reply.streams.size() < rows_max; ++walk.next) {
    const auto id = static_cast<StreamId>(walk.next);
    if (!queries.is_live(id)) continue;
    const StreamDefinition& stream = queries.stream(id);
    if (!principal.may_use_stream(stream.name)) continue;
    reply.streams.push_back(
        {.name = stream.name,
         .on = stream.on,
         .with = stream.with,
         .query_count = queries.query_count(id),
         .subscription_count = results_.subscriber_count(protocol::topic_of(stream.name)),
         .sequence = publisher_.sequence(id, processor.last_tick())});
  }
  reply.next_page = walk.next_page();
  pages_.send(caller, protocol::encode_streams(caller.reply_head(), reply), walk.walked(),
              since_us);
}

}  // namespace starling::stream
