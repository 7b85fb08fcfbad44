// SPDX-License-Identifier: Apache-2.0
// Puts and removes queries in slices, and lists them page by page: see query_requests.hpp.
#include "starling/stream/requests/query_requests.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "starling/protocol/rows/conversions.hpp"
#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

// About how many bytes a new query takes in the table and in the engine, without its lists.
constexpr std::uint64_t memory_bytes_per_query = 300;

/// A page of queries ends when its vectors have this many bytes.
constexpr std::size_t page_vector_bytes = std::size_t{1} << 20;

/// Returns the rest of the lease in milliseconds, at least 1; 0 if the query has no lease.
std::uint64_t lease_left_ms(const QueryDefinition& query, std::optional<std::int64_t> now_us) {
  if (query.lease_end_us == QueryDefinition::no_lease) return 0;
  constexpr std::int64_t us_per_ms = 1000;
  const std::int64_t left_us = now_us ? query.lease_end_us - *now_us : 0;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>((left_us + us_per_ms - 1) / us_per_ms, 1));
}

}  // namespace

void QueryRequests::put(const Caller& caller, PreparedRequest& request) {
  const auto& body = std::get<protocol::PutQueries>(request.request.body);
  auto& rows = std::get<protocol::RowSet<QueryDefinition>>(request.rows);
  const auto stream = tables_.settled().queries().find_stream(body.stream);
  if (!stream) return replies_.answer(caller, protocol::ErrorReply{unknown_stream(body.stream), 0});
  tables_.growth().let_grow(rows.rows.size() * memory_bytes_per_query);
  tables_.growth().limit_lists();
  if (auto refusal = protocol::set_leases(body, tables_.time().base_us(), rows))
    return replies_.answer(caller, protocol::ErrorReply{*std::move(refusal), 0});
  const auto held = rows_.hold(caller, request);
  auto& set = std::get<protocol::RowSet<QueryDefinition>>(held->request.rows);
  const auto statuses = std::make_shared<std::vector<QueryStatus>>(set.rows.size());
  rows_.run(held, {.rows = set.rows.size(),
                   .step = in_steps(set.rows.size(),
                                    [this, &set, statuses, stream = *stream,
                                     owner = owners_.query_owner(caller)](auto first, auto count) {
                                      tables_.processor().put_queries(
                                          stream, std::span(set.rows).subspan(first, count),
                                          std::span(*statuses).subspan(first, count), owner);
                                    }),
                   .finish = [this, held, &set, statuses]() -> SequencedReply {
                     const std::span<const QueryStatus> all(*statuses);
                     tables_.growth().set_lists_short(
                         std::ranges::find(all, QueryStatus::too_many_list_bytes) != all.end());
                     log_.note_change(
                         std::get<protocol::PutQueries>(held->request.request.body).stream, set,
                         all);
                     return reply_to(set, all);
                   }});
}

void QueryRequests::remove(const Caller& caller, PreparedRequest& request) {
  const std::string_view name = std::get<protocol::RemoveQueries>(request.request.body).stream;
  const auto stream = tables_.settled().queries().find_stream(name);
  if (!stream) return replies_.answer(caller, protocol::ErrorReply{unknown_stream(name), 0});
  const auto held = rows_.hold(caller, request);
  const auto& body = std::get<protocol::RemoveQueries>(held->request.request.body);
  const auto reasons = std::make_shared<std::vector<RowReason>>(body.ids.size());
  rows_.run(held, {.rows = body.ids.size(),
                   .step = in_steps(body.ids.size(),
                                    [this, caller, ids = body.ids, reasons, stream = *stream](
                                        auto first, auto count) {
                                      remove_rows(caller, stream, ids.subspan(first, count),
                                                  std::span(*reasons).subspan(first, count));
                                    }),
                   .finish = [this, &body, reasons]() -> SequencedReply {
                     log_.note_change(body, std::span<const RowReason>(*reasons));
                     return protocol::summarize(*reasons);
                   }});
}

/// Removes the queries that the caller may remove, and sets the entry of `reasons` for each id.
void QueryRequests::remove_rows(const Caller& caller, StreamId stream,
                                std::span<const std::uint64_t> ids, std::span<RowReason> reasons) {
  std::vector<QueryId> own;
  own.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (caller.principal->may_use_query(ids[i]))
      own.push_back(QueryId{ids[i]});
    else
      reasons[i] = RowReason::not_allowed;
  std::vector<QueryStatus> statuses(own.size());
  tables_.processor().remove_queries(stream, own, statuses, owners_.query_owner(caller));
  protocol::merge_statuses<QueryStatus>(statuses, reasons);
}

void QueryRequests::list(const Caller& caller, const protocol::ListQueries& request) {
  const QueryTable& queries = tables_.settled().queries();
  const auto stream = queries.find_stream(request.stream);
  if (!stream) return replies_.refuse(caller, unknown_stream(request.stream));
  const std::size_t rows_max = pages_.rows_max(caller, request.rows_max);
  if (rows_max == 0) return;
  const std::int64_t since_us = pages_.now_us();
  const auto now_us = tables_.time().base_us();
  protocol::Queries reply{
      .epoch = publisher_.epoch(), .query_count = queries.query_count(*stream), .queries = {}};
  std::size_t vector_bytes = 0;
  Walk walk(request.page, queries.slot_end(), Walk::queries_walked_max);
  for (; walk.next < walk.page_end && reply.queries.size() < rows_max &&
         vector_bytes < page_vector_bytes;
       ++walk.next) {
    const auto slot = static_cast<Slot>(walk.next);
    if (!queries.is_live(slot) || queries.stream_of(slot) != *stream) continue;
    const QueryDefinition& query = queries.definition_of(slot);
    reply.queries.push_back(tables_.space().spec_of(query));
    reply.queries.back().lease_ms = lease_left_ms(query, now_us);
    vector_bytes += query.components.size() * sizeof(float);
  }
  reply.next_page = walk.next_page();
  pages_.send(caller, protocol::encode_queries(caller.reply_head(), reply), walk.walked(),
              since_us);
}

}  // namespace starling::stream
