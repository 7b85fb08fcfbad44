// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that update objects. The updates of several requests are applied
// together, so that several threads have enough to do. Each gets its own reply, in order.
#include <utility>
#include <variant>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/request_handler.hpp"
#include "starling/stream/row_outcomes.hpp"

namespace starling::stream {
namespace {

// More rows at once would keep the loop from other requests for too long.
constexpr std::size_t rows_at_once_per_thread = 8192;

ObjectBatch batch_of(const RowSet<ObjectUpdate>& set, std::int64_t time_us_max,
                     std::span<UpdateStatus> statuses) {
  return {set.rows, time_us_max, statuses};
}

VectorBatch batch_of(const VectorRowSet& set, std::int64_t time_us_max,
                     std::span<UpdateStatus> statuses) {
  return {set.rows, set.vectors(), time_us_max, statuses};
}

}  // namespace

/// Keeps a fresh update of objects for apply_updates. Returns false, and changes nothing, if the
/// request is anything else.
bool RequestHandler::add_update(const Caller& caller, PreparedRequest& request) {
  if (request.request.problem) return false;
  const auto add = [&](const auto& set) {
    const auto admission = sessions_.admit(caller.head.session, caller.head.sequence);
    if (admission.kind != SessionTable::Admission::Kind::fresh) return false;
    sessions_.begin(caller.head.session, caller.head.sequence);
    update_rows_ += set.rows.size();
    std::vector<UpdateStatus> statuses(set.rows.size());
    updates_.push_back({caller, std::move(request), std::move(statuses)});
    return true;
  };
  if (const auto* set = std::get_if<RowSet<ObjectUpdate>>(&request.rows)) return add(*set);
  if (const auto* set = std::get_if<VectorRowSet>(&request.rows)) return add(*set);
  return false;
}

bool RequestHandler::takes_more_updates() const {
  const unsigned threads = parts_.processor.options().threads;
  return threads > 1 && !updates_.empty() && update_rows_ < threads * rows_at_once_per_thread;
}

void RequestHandler::apply_updates() {
  if (updates_.empty()) return;
  const std::int64_t since_us = steady_now_us();
  const bool is_vector = parts_.processor.space().is_vector();
  if (is_vector)
    parts_.processor.update_vectors(batches_of<VectorRowSet, VectorBatch>());
  else
    parts_.processor.update(batches_of<RowSet<ObjectUpdate>, ObjectBatch>());
  parts_.metrics.applied(ms_since(since_us));
  if (parts_.trace != nullptr) parts_.trace->updates(since_us, steady_now_us(), update_rows_);
  const auto reply_to = [&](auto& set, std::span<const UpdateStatus> statuses) {
    if (set.rows.size() == set.reasons.size() && all_accepted(statuses))
      return protocol::BatchReply{.accepted = statuses.size()};
    merge_statuses<UpdateStatus>(statuses, set.reasons);
    return summarize(set.reasons, set.columns);
  };
  for (WaitingUpdate& update : std::exchange(updates_, {})) {
    PreparedRows& rows = update.request.rows;
    answer(update.caller, is_vector
                              ? reply_to(std::get<VectorRowSet>(rows), update.statuses)
                              : reply_to(std::get<RowSet<ObjectUpdate>>(rows), update.statuses));
    parts_.credit.give_back(update.caller.head.session, update.request.credit);
  }
  update_rows_ = 0;
}

template <class Set, class Batch>
std::vector<Batch> RequestHandler::batches_of() {
  const std::int64_t time_us_max = parts_.ticker.event_time_max_us();
  std::vector<Batch> batches;
  batches.reserve(updates_.size());
  for (WaitingUpdate& update : updates_)
    batches.push_back(batch_of(std::get<Set>(update.request.rows), time_us_max, update.statuses));
  return batches;
}

}  // namespace starling::stream
