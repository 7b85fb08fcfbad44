// SPDX-License-Identifier: Apache-2.0
// The functions of RequestHandler that update objects. The updates of several requests are applied
// together, so that several threads have enough to do, and beside the loop, which gathers the next
// updates meanwhile. Each request gets its own reply, in order.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "starling/protocol/rows/row_outcomes.hpp"
#include "starling/stream/request_handler.hpp"

namespace starling::stream {
namespace {

// More rows at once would keep ticks and other requests waiting for too long.
constexpr std::size_t rows_at_once_per_thread = 8192;

// Nor do more requests, each of which is answered on the loop.
constexpr std::size_t requests_at_once = 256;

// Nor do more bytes, so that the records of a group find room in the log.
constexpr std::size_t bytes_at_once = std::size_t{16} << 20;

// What a new object takes, about, in the table and in the engine.
constexpr std::uint64_t memory_bytes_per_row = 200;

// More rows at once are applied in slices, so that they hold neither the loop nor what waits for
// the thread beside it.
constexpr std::size_t rows_unsliced_max_per_thread = 4 * rows_at_once_per_thread;
constexpr std::size_t rows_per_step_per_thread = 1024;

// Fewer rows are applied sooner than they are handed to another thread.
constexpr std::size_t rows_beside_min = 4096;

ObjectBatch batch_of(const protocol::RowSet<ObjectUpdate>& set, std::int64_t time_us_max,
                     std::span<UpdateStatus> statuses) {
  return {set.rows, time_us_max, statuses};
}

VectorBatch batch_of(const protocol::VectorRowSet& set, std::int64_t time_us_max,
                     std::span<UpdateStatus> statuses) {
  return {set.rows, set.vectors(), time_us_max, statuses};
}

}  // namespace

/// Keeps a fresh update of objects for apply_updates. Returns false, and changes nothing, if the
/// request is anything else.
bool RequestHandler::add_update(const Caller& caller, PreparedRequest& request) {
  if (request.request.problem) return false;
  const auto add = [&](const auto& set) {
    const std::uint64_t hash = request.request.hash;
    const auto admission = sessions_.admit(caller.head.session, caller.head.sequence, hash);
    if (admission.kind != SessionTable::Admission::Kind::fresh) return false;
    // What a row keeps if memory runs out before it is applied.
    std::vector<UpdateStatus> statuses(set.rows.size(), UpdateStatus::too_many_objects);
    if (updates_.size() == updates_.capacity())
      updates_.reserve(std::max<std::size_t>(2 * updates_.size(), 16));
    sessions_.begin(caller.head.session, caller.head.sequence, hash);
    update_rows_ += set.rows.size();
    update_bytes_ += request.received.bytes.size();
    updates_.push_back({caller, std::move(request), std::move(statuses)});
    return true;
  };
  if (const auto* set = std::get_if<protocol::RowSet<ObjectUpdate>>(&request.rows))
    return add(*set);
  if (const auto* set = std::get_if<protocol::VectorRowSet>(&request.rows)) return add(*set);
  return false;
}

bool RequestHandler::has_room() const {
  if (slices_.is_busy() || is_behind()) return false;
  return !parts_.updates.is_busy() || !is_group_full();
}

bool RequestHandler::takes_more_updates() const {
  return options_.update_threads > 1 && !updates_.empty() && !is_group_full();
}

bool RequestHandler::is_group_full() const {
  return updates_.size() >= requests_at_once ||
         (parts_.journal != nullptr && update_bytes_ >= bytes_at_once) ||
         update_rows_ >= options_.update_threads * rows_at_once_per_thread;
}

void RequestHandler::apply_updates() {
  if (updates_.empty() || parts_.updates.is_busy() || slices_.is_busy()) return;
  const auto group = std::make_shared<UpdateGroup>();
  group->updates = std::exchange(updates_, {});
  group->rows = std::exchange(update_rows_, 0);
  update_bytes_ = 0;
  let_grow(group->rows * memory_bytes_per_row);
  group->time_us_max = parts_.ticker.event_time_max_us();
  const std::size_t threads = options_.update_threads;
  const std::size_t unsliced_max =
      threads == 1 ? rows_at_once_per_thread : threads * rows_unsliced_max_per_thread;
  if (group->rows > unsliced_max) {
    slice_group(group);
  } else if (threads == 1 || group->rows < rows_beside_min) {
    apply_group(*group);
    answer_group(*group);
  } else {
    parts_.updates.start([this, group] { apply_group(*group); },
                         [this, group] {
                           answer_group(*group);
                           apply_updates();  // which came meanwhile
                           parts_.has_room_again();
                         });
  }
}

/// Applies and answers the group in slices.
void RequestHandler::slice_group(const std::shared_ptr<UpdateGroup>& group) {
  group->since_us = parts_.executor.now_us();
  slices_.start([this, group] { return apply_some(*group); },
                [this, group] {
                  group->until_us = parts_.executor.now_us();
                  answer_group(*group);
                  apply_updates();
                  if (!slices_.is_busy()) parts_.has_room_again();
                });
}

/// Applies the next rows. Returns whether they were the last ones, or memory ran out.
bool RequestHandler::apply_some(UpdateGroup& group) {
  const std::int64_t since_us = parts_.executor.now_us();
  try {
    apply_rows_of(group);
  } catch (const std::bad_alloc&) {
    group.is_out_of_memory = true;
    return true;
  }
  group.took_us += parts_.executor.now_us() - since_us;
  return group.next_update == group.updates.size();
}

void RequestHandler::apply_rows_of(UpdateGroup& group) {
  WaitingUpdate& update = group.updates[group.next_update];
  const std::size_t first = group.next_row;
  const std::size_t rows_max = rows_per_step_per_thread * options_.update_threads;
  const std::size_t count = std::min(rows_max, update.statuses.size() - first);
  const auto statuses = std::span(update.statuses).subspan(first, count);
  if (auto* const vectors = std::get_if<protocol::VectorRowSet>(&update.request.rows)) {
    const VectorsView all = vectors->vectors();
    const VectorBatch batch{
        std::span(vectors->rows).subspan(first, count),
        {all.components.subspan(first * all.dimension, count * all.dimension), all.dimension},
        group.time_us_max,
        statuses};
    parts_.processor.update_vectors(std::span(&batch, 1));
  } else {
    const auto& set = std::get<protocol::RowSet<ObjectUpdate>>(update.request.rows);
    const ObjectBatch batch{std::span(set.rows).subspan(first, count), group.time_us_max, statuses};
    parts_.processor.update(std::span(&batch, 1));
  }
  group.next_row += count;
  if (group.next_row < update.statuses.size()) return;
  group.next_row = 0;
  ++group.next_update;
}

/// Updates the objects. This may run beside the loop, so it uses nothing but the group and the
/// processor.
void RequestHandler::apply_group(UpdateGroup& group) {
  group.since_us = parts_.executor.now_us();
  try {
    if (parts_.processor.space().is_vector())
      parts_.processor.update_vectors(batches_of<protocol::VectorRowSet, VectorBatch>(group));
    else
      parts_.processor.update(batches_of<protocol::RowSet<ObjectUpdate>, ObjectBatch>(group));
  } catch (const std::bad_alloc&) {
    group.is_out_of_memory = true;
  }
  group.until_us = parts_.executor.now_us();
  group.took_us = group.until_us - group.since_us;
}

void RequestHandler::answer_group(UpdateGroup& group) {
  charge_group(group);
  if (group.is_out_of_memory) {
    check_memory_for_log();
    is_memory_short_ = true;
  }
  parts_.metrics.applied(static_cast<double>(group.until_us - group.since_us) / 1e3);
  if (parts_.trace != nullptr) parts_.trace->updates(group.since_us, group.until_us, group.rows);
  const auto reply_to = [&](auto& set, std::span<const UpdateStatus> statuses) {
    if (set.rows.size() == set.reasons.size() && protocol::all_accepted(statuses))
      return protocol::BatchReply{.accepted = statuses.size()};
    protocol::merge_statuses<UpdateStatus>(statuses, set.reasons);
    return protocol::summarize(set.reasons, set.columns);
  };
  for (WaitingUpdate& update : group.updates) {
    protocol::PreparedRows& rows = update.request.rows;
    auto* const vectors = std::get_if<protocol::VectorRowSet>(&rows);
    const std::span<const UpdateStatus> statuses(update.statuses);
    if (vectors != nullptr)
      note_change(*vectors, statuses);
    else
      note_change(std::get<protocol::RowSet<ObjectUpdate>>(rows), statuses);
    answer(update.caller,
           vectors != nullptr
               ? reply_to(*vectors, update.statuses)
               : reply_to(std::get<protocol::RowSet<ObjectUpdate>>(rows), update.statuses));
    parts_.credit.give_back(update.caller.head.session, update.request.credit);
  }
}

template <class Set, class Batch>
std::vector<Batch> RequestHandler::batches_of(UpdateGroup& group) {
  std::vector<Batch> batches;
  batches.reserve(group.updates.size());
  for (WaitingUpdate& update : group.updates)
    batches.push_back(
        batch_of(std::get<Set>(update.request.rows), group.time_us_max, update.statuses));
  return batches;
}

}  // namespace starling::stream
