// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that apply a long request in slices, so that it does not hold the
// loop. Meanwhile nothing else changes the tables and no tick begins, so a tick sees all of a
// request or nothing. Requests that only read are answered between two slices: they see the rows
// that are applied already. The reply comes when all is done.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/overloaded.hpp"
#include "starling/protocol/rows/conversions.hpp"
#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {
namespace {

/// A request with fewer rows is applied in one turn, which takes less than a millisecond.
constexpr std::size_t long_rows_min = 1024;
constexpr std::size_t rows_per_step = 256;

template <class Reply, class Status>
Reply reply_to(std::span<const Status> statuses, std::vector<protocol::RowReason>& reasons,
               std::span<const std::uint32_t> columns) {
  protocol::merge_statuses<Status>(statuses, reasons);
  return protocol::summarize(reasons, columns);
}

}  // namespace

/// A request that is applied in slices.
struct RequestHandler::LongRequest {
  Caller caller;
  PreparedRequest request;
  std::vector<UpdateStatus> object_statuses{};
  std::vector<QueryStatus> query_statuses{};
  std::vector<protocol::RowReason> reasons{};
  std::size_t next = 0;           ///< the first row that is not applied yet
  bool is_out_of_memory = false;  ///< the client sends the request again
};

/// Begins to apply a request in slices. Returns false, and does nothing, if the request is short.
bool RequestHandler::apply_in_slices(const Caller& caller, PreparedRequest& prepared) {
  if (rows_of(prepared) < long_rows_min) return false;
  parts_.tables.growth().let_grow(prepared.received.bytes.size());
  const auto work = std::make_shared<LongRequest>(LongRequest{caller, std::move(prepared)});
  prepared.credit = {};
  const std::int64_t time_us_max = parts_.time.event_max_us();
  std::visit(
      Overloaded{
          [&](const protocol::UpdateTags&, protocol::RowSet<TagUpdate>& set) {
            work->object_statuses.resize(set.rows.size());
            slice(work, set.rows.size(), [this, work, &set, time_us_max](auto first, auto count) {
              parts_.tables.processor().update_tags(
                  std::span(set.rows).subspan(first, count), time_us_max,
                  std::span(work->object_statuses).subspan(first, count), tag_owner(work->caller));
            });
          },
          [&](const protocol::RemoveObjects&, protocol::RowSet<ObjectRemoval>& set) {
            work->object_statuses.resize(set.rows.size());
            slice(work, set.rows.size(), [this, work, &set, time_us_max](auto first, auto count) {
              parts_.tables.processor().remove_objects(
                  std::span(set.rows).subspan(first, count), time_us_max,
                  std::span(work->object_statuses).subspan(first, count));
            });
          },
          [&](const protocol::PutQueries& body, protocol::RowSet<QueryDefinition>& set) {
            const auto stream = parts_.tables.settled().queries().find_stream(body.stream);
            if (!stream) return end_long(*work, unknown_stream(body.stream));
            if (auto refusal = protocol::set_leases(body, parts_.time.base_us(), set))
              return end_long(*work, protocol::ErrorReply{std::move(*refusal), 0});
            let_grow_for(set);
            work->query_statuses.resize(set.rows.size());
            slice(work, set.rows.size(),
                  [this, work, &set, stream = *stream](auto first, auto count) {
                    parts_.tables.processor().put_queries(
                        stream, std::span(set.rows).subspan(first, count),
                        std::span(work->query_statuses).subspan(first, count),
                        query_owner(work->caller));
                  });
          },
          [&](const protocol::RemoveQueries& body, std::monostate) {
            const auto stream = parts_.tables.settled().queries().find_stream(body.stream);
            if (!stream) return end_long(*work, unknown_stream(body.stream));
            work->reasons.resize(body.ids.size());
            slice(work, body.ids.size(),
                  [this, work, ids = body.ids, stream = *stream](auto first, auto count) {
                    remove_query_rows(work->caller, stream, ids.subspan(first, count),
                                      std::span(work->reasons).subspan(first, count));
                  });
          },
          [&](const protocol::PutNames& body, std::monostate) {
            work->reasons.resize(body.ids.size());
            slice(work, body.ids.size(), [this, work, &body](auto first, auto count) {
              put_names(work->caller, body, first, std::span(work->reasons).subspan(first, count));
            });
          },
          [&](const protocol::RemoveStream& body, std::monostate) {
            const StreamId stream = *parts_.tables.settled().queries().find_stream(body.name);
            begin_remove_stream(stream);
            parts_.tables.slice(
                [this, stream] {
                  return parts_.tables.processor().remove_some(stream, rows_per_step);
                },
                [this, work, &body] {
                  note_change(body);
                  end_long(*work, protocol::Done{});
                });
          },
          [](const auto&, const auto&) {
            assertion_failed("a request that is applied in slices is one of the pairs above");
          },
      },
      work->request.request.body, work->request.rows);
  return true;
}

/// Returns how many rows of the tables the request changes, if it may be applied in slices.
std::size_t RequestHandler::rows_of(const PreparedRequest& prepared) {
  return std::visit(Overloaded{
                        [](const protocol::UpdateTags& body) { return body.ids.size(); },
                        [](const protocol::RemoveObjects& body) { return body.ids.size(); },
                        [](const protocol::PutQueries& body) { return body.queries.size(); },
                        [](const protocol::RemoveQueries& body) { return body.ids.size(); },
                        [](const protocol::PutNames& body) { return body.ids.size(); },
                        [&](const protocol::RemoveStream& body) {
                          const QueryTable& queries = parts_.tables.settled().queries();
                          const auto stream = queries.find_stream(body.name);
                          return stream ? static_cast<std::size_t>(queries.query_count(*stream))
                                        : 0;
                        },
                        [](const auto&) { return std::size_t{0}; },
                    },
                    prepared.request.body);
}

/// Calls apply(first row, count) for all rows, some at a time, and then answers.
template <class Apply>
void RequestHandler::slice(const std::shared_ptr<LongRequest>& work, std::size_t rows,
                           Apply apply) {
  const auto step = [this, work, rows, apply] {
    const std::size_t count = std::min(rows_per_step, rows - work->next);
    try {
      charged(work->caller, [&] { apply(work->next, count); });
    } catch (const std::bad_alloc&) {
      work->is_out_of_memory = true;
      return true;
    }
    work->next += count;
    return work->next == rows;
  };
  const std::int64_t since_us = parts_.executor.now_us();
  parts_.tables.slice(step, [this, work, since_us] {
    parts_.metrics.applied(parts_.executor.ms_since(since_us));
    if (work->is_out_of_memory) return end_long(*work, std::nullopt);
    end_long(*work, outcome_of(*work));
  });
}

protocol::BatchReply RequestHandler::outcome_of(LongRequest& work) {
  const auto of_set = [&](auto& set, auto statuses) {
    return reply_to<protocol::BatchReply>(statuses, set.reasons, set.columns);
  };
  using Objects = std::span<const UpdateStatus>;
  using Queries = std::span<const QueryStatus>;
  note_long(work);
  return std::visit(Overloaded{
                        [&](protocol::RowSet<TagUpdate>& set) {
                          return of_set(set, Objects(work.object_statuses));
                        },
                        [&](protocol::RowSet<ObjectRemoval>& set) {
                          return of_set(set, Objects(work.object_statuses));
                        },
                        [&](protocol::RowSet<QueryDefinition>& set) {
                          return of_set(set, Queries(work.query_statuses));
                        },
                        [&](auto&) { return protocol::summarize(work.reasons); },
                    },
                    work.request.rows);
}

/// Notes for the log what a long request changed.
void RequestHandler::note_long(const LongRequest& work) {
  using Objects = std::span<const UpdateStatus>;
  using Reasons = std::span<const protocol::RowReason>;
  std::visit(
      Overloaded{
          [&](const protocol::UpdateTags&, const protocol::RowSet<TagUpdate>& set) {
            note_change(set, Objects(work.object_statuses),
                        tag_owner(work.caller).may_change_others);
          },
          [&](const protocol::RemoveObjects&, const protocol::RowSet<ObjectRemoval>& set) {
            note_change(set, Objects(work.object_statuses));
          },
          [&](const protocol::PutQueries& body, const protocol::RowSet<QueryDefinition>& set) {
            note_change(body.stream, set, std::span<const QueryStatus>(work.query_statuses));
          },
          [&](const protocol::RemoveQueries& body, std::monostate) {
            note_change(body, Reasons(work.reasons));
          },
          [&](const protocol::PutNames& body, std::monostate) {
            note_change(body, Reasons(work.reasons));
          },
          [](const auto&, const auto&) {
            assertion_failed("a request that is applied in slices is one of the pairs above");
          },
      },
      work.request.request.body, work.request.rows);
}

/// Answers a long request and frees its memory beside the loop. Without a reply, memory has run
/// out. Other requests go on.
void RequestHandler::end_long(LongRequest& work, std::optional<SequencedReply> reply) {
  if (reply)
    answer(work.caller, std::move(*reply));
  else
    refuse_for_memory(work.caller);
  parts_.credit.give_back(work.caller.head.session, work.request.credit);
  beside_.submit([request = std::make_shared<PreparedRequest>(std::move(work.request))]() mutable {
    request.reset();
    return [] {};
  });
}

}  // namespace starling::stream
