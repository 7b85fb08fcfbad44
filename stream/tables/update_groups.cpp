// SPDX-License-Identifier: Apache-2.0
// Applies a group at once, in slices, or beside the loop, by its rows: see update_groups.hpp.
#include "starling/stream/tables/update_groups.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>
#include <variant>

namespace starling::stream {
namespace {

using protocol::PreparedRows;
using protocol::RowSet;
using protocol::VectorRowSet;

// More rows at once would keep ticks and other requests waiting for too long.
constexpr std::size_t rows_at_once_per_thread = 8192;

// More requests at once would also keep ticks waiting for too long, because the loop answers each
// request.
constexpr std::size_t requests_at_once = 256;

// With more bytes at once, the records of a group might not fit in the buffer of the log.
constexpr std::size_t bytes_at_once = std::size_t{16} << 20;

// About the memory that a new object takes in the table and in the engine.
constexpr std::uint64_t memory_bytes_per_row = 200;

// More rows at once are applied in slices, so that they hold neither the loop nor what waits for
// the thread beside it.
constexpr std::size_t rows_unsliced_max_per_thread = 4 * rows_at_once_per_thread;
constexpr std::size_t rows_per_step_per_thread = 1024;

// Fewer rows take less time to apply than to hand to another thread.
constexpr std::size_t rows_beside_min = 4096;

ObjectBatch batch_of(const RowSet<ObjectUpdate>& set, std::int64_t time_us_max,
                     std::span<UpdateStatus> statuses) {
  return {set.rows, time_us_max, statuses};
}

VectorBatch batch_of(const VectorRowSet& set, std::int64_t time_us_max,
                     std::span<UpdateStatus> statuses) {
  return {set.rows, set.vectors(), time_us_max, statuses};
}

template <class Set, class Batch>
std::vector<Batch> batches_of(std::span<const std::unique_ptr<WaitingUpdate>> updates,
                              std::int64_t time_us_max) {
  std::vector<Batch> batches;
  batches.reserve(updates.size());
  for (const auto& update : updates)
    batches.push_back(batch_of(std::get<Set>(update->rows()), time_us_max, update->statuses()));
  return batches;
}

}  // namespace

struct UpdateGroups::Group {
  std::vector<std::unique_ptr<WaitingUpdate>> updates;
  std::int64_t time_us_max = 0;  ///< the latest event time that a row may have
  GroupOutcome outcome{};
  /// The update whose rows are next, if the group is applied in slices.
  std::size_t next_update = 0;
  std::size_t next_row = 0;
};

UpdateGroups::UpdateGroups(Processor& processor, Growth& growth, TickTime& time, Turns& turns,
                           Options options)
    : processor_(processor),
      growth_(growth),
      time_(time),
      turns_(turns),
      options_(std::move(options)) {}

void UpdateGroups::reserve() {
  if (waiting_.size() == waiting_.capacity())
    waiting_.reserve(std::max<std::size_t>(2 * waiting_.size(), 16));
}

void UpdateGroups::add(std::unique_ptr<WaitingUpdate> update) {
  rows_ += update->statuses().size();
  bytes_ += update->bytes();
  waiting_.push_back(std::move(update));
}

bool UpdateGroups::is_full() const {
  return waiting_.size() >= requests_at_once || (options_.has_log && bytes_ >= bytes_at_once) ||
         rows_ >= options_.threads * rows_at_once_per_thread;
}

void UpdateGroups::apply() {
  if (waiting_.empty() || turns_.is_beside() || turns_.is_sliced()) return;
  const auto group = std::make_shared<Group>();
  const std::size_t rows = std::exchange(rows_, 0);
  bytes_ = 0;
  group->updates = std::exchange(waiting_, {});
  group->outcome.rows = rows;
  growth_.let_grow(rows * memory_bytes_per_row);
  group->time_us_max = time_.event_max_us();
  const std::size_t threads = options_.threads;
  const std::size_t unsliced_max =
      threads == 1 ? rows_at_once_per_thread : threads * rows_unsliced_max_per_thread;
  if (rows > unsliced_max) {
    slice(group);
  } else if (threads == 1 || rows < rows_beside_min) {
    apply_all(*group);
    end(*group);
  } else {
    turns_.start_beside([this, group] { apply_all(*group); },
                        [this, group] {
                          end(*group);
                          apply();  // the updates that came meanwhile
                        });
  }
}

void UpdateGroups::slice(const std::shared_ptr<Group>& group) {
  group->outcome.since_us = turns_.now_us();
  turns_.slice([this, group] { return apply_some(*group); },
               [this, group] {
                 group->outcome.until_us = turns_.now_us();
                 end(*group);
                 apply();
               });
}

/// Applies the next rows. Returns true if they were the last rows, or if memory ran out.
bool UpdateGroups::apply_some(Group& group) {
  const std::int64_t since_us = turns_.now_us();
  try {
    apply_rows_of(group);
  } catch (const std::bad_alloc&) {
    group.outcome.is_out_of_memory = true;
    return true;
  }
  group.outcome.took_us += turns_.now_us() - since_us;
  return group.next_update == group.updates.size();
}

void UpdateGroups::apply_rows_of(Group& group) {
  WaitingUpdate& update = *group.updates[group.next_update];
  const std::size_t first = group.next_row;
  const std::size_t rows_max = rows_per_step_per_thread * options_.threads;
  const std::size_t count = std::min(rows_max, update.statuses().size() - first);
  const auto statuses = std::span(update.statuses()).subspan(first, count);
  if (auto* const vectors = std::get_if<VectorRowSet>(&update.rows())) {
    const VectorsView all = vectors->vectors();
    const VectorBatch batch{
        std::span(vectors->rows).subspan(first, count),
        {all.components.subspan(first * all.dimension, count * all.dimension), all.dimension},
        group.time_us_max,
        statuses};
    processor_.update_vectors(std::span(&batch, 1));
  } else {
    const auto& set = std::get<RowSet<ObjectUpdate>>(update.rows());
    const ObjectBatch batch{std::span(set.rows).subspan(first, count), group.time_us_max, statuses};
    processor_.update(std::span(&batch, 1));
  }
  group.next_row += count;
  if (group.next_row < update.statuses().size()) return;
  group.next_row = 0;
  ++group.next_update;
}

/// May run beside the loop, so it uses only the group, the processor and the clock.
void UpdateGroups::apply_all(Group& group) {
  GroupOutcome& outcome = group.outcome;
  outcome.since_us = turns_.now_us();
  try {
    if (processor_.space().is_vector())
      processor_.update_vectors(
          batches_of<VectorRowSet, VectorBatch>(group.updates, group.time_us_max));
    else
      processor_.update(
          batches_of<RowSet<ObjectUpdate>, ObjectBatch>(group.updates, group.time_us_max));
  } catch (const std::bad_alloc&) {
    outcome.is_out_of_memory = true;
  }
  outcome.until_us = turns_.now_us();
  outcome.took_us = outcome.until_us - outcome.since_us;
}

void UpdateGroups::end(Group& group) {
  if (group.outcome.is_out_of_memory) growth_.ran_out();
  options_.applied(group.outcome);
  for (const auto& update : group.updates) update->applied(group.outcome);
}

}  // namespace starling::stream
