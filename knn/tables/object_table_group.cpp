// SPDX-License-Identifier: Apache-2.0
// Updates objects on several threads, in four steps: look up the rows' objects, add unknown
// objects, apply the rows, stage the objects that changed. All threads share each step except the
// second. One thread does the second step in the order of the rows, so that slots and refusals are
// the same as with one thread. docs/decisions/0013-partitions.md says why.
#include "starling/knn/tables/object_table_group.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <numeric>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/tables/object_table_rules.hpp"

namespace starling {
namespace {

// Fewer rows are updated faster by one thread than by threads that must be woken first.
constexpr std::size_t rows_for_threads_min = 4096;
constexpr std::size_t prefetch_rows = 16;

template <class Batch>
std::size_t row_count(std::span<const Batch> batches) {
  return std::transform_reduce(batches.begin(), batches.end(), std::size_t{0}, std::plus<>(),
                               [](const Batch& batch) { return batch.rows.size(); });
}

}  // namespace

void ObjectTable::update(std::span<const ObjectBatch> batches, Staging& staging, ThreadPool& pool) {
  check_space();
  for (const ObjectBatch& batch : batches) check_statuses(batch.rows.size(), batch.statuses.size());
  update_group(batches, staging, pool);
}

void ObjectTable::update_vectors(std::span<const VectorBatch> batches, Staging& staging,
                                 ThreadPool& pool) {
  for (const VectorBatch& batch : batches) {
    check_vectors(batch.rows.size(), batch.components);
    check_statuses(batch.rows.size(), batch.statuses.size());
  }
  update_group(batches, staging, pool);
}

void ObjectTable::update_one_by_one(const ObjectBatch& batch, Staging& staging) {
  update(batch.rows, batch.time_us_max, batch.statuses, staging);
}

void ObjectTable::update_one_by_one(const VectorBatch& batch, Staging& staging) {
  update_vectors(batch.rows, batch.components, batch.time_us_max, batch.statuses, staging);
}

template <class Batch>
void ObjectTable::update_group(std::span<const Batch> batches, Staging& staging, ThreadPool& pool) {
  const std::size_t rows = row_count(batches);
  if (pool.threads() == 1 || rows < rows_for_threads_min) {
    for (const Batch& batch : batches) update_one_by_one(batch, staging);
    return;
  }
  lay_out(batches, rows, staging);
  Group& group = *group_;
  pool.run(group.pieces.size(), [&](std::size_t piece, unsigned) {
    const Batch& batch = batches[group.pieces[piece].batch];
    look_up(batch.rows, group.pieces[piece]);
    // The next step writes only the statuses of rows that it does not accept. Threads that write
    // to one cache line wait for each other.
    std::ranges::fill(batch.statuses.subspan(group.pieces[piece].begin, group.pieces[piece].count),
                      UpdateStatus::accepted);
  });
  for (const GroupPiece& piece : group.pieces) update_unknown(batches[piece.batch], piece, staging);
  std::size_t begin = 0;
  for (std::size_t share = 0; share < Group::share_count; ++share) {
    group.share_begin[share] = begin;
    for (const GroupPiece& piece : group.pieces)
      begin += std::size_t{piece.first[share + 1]} - piece.first[share];
  }
  pool.run(Group::share_count,
           [&](std::size_t share, unsigned) { take_share(batches, share, staging); });
  stage_shares(staging, pool);
}

/// Allocates all memory that the update of known objects needs, before anything changes.
template <class Batch>
void ObjectTable::lay_out(std::span<const Batch> batches, std::size_t rows, Staging& staging) {
  Group& group = *group_;
  group.pieces.clear();
  std::size_t row_begin = 0;
  for (std::size_t batch = 0; batch < batches.size(); ++batch) {
    for (std::size_t begin = 0; begin < batches[batch].rows.size(); begin += GroupPiece::rows_max) {
      GroupPiece& piece = group.pieces.emplace_back();
      piece.batch = batch;
      piece.begin = begin;
      piece.row_begin = row_begin;
      piece.count = static_cast<std::uint32_t>(
          std::min(GroupPiece::rows_max, batches[batch].rows.size() - begin));
      row_begin += piece.count;
    }
  }
  if (group.slots.size() < rows) {
    group.slots.resize(rows);
    group.order.resize(rows);
    group.newly_staged.resize(rows);
  }
  reserve_staged(staging, staging.objects.size() + rows);
}

/// Finds the slots of the rows of a piece, and divides the rows among the shares.
template <class Row>
void ObjectTable::look_up(std::span<const Row> batch_rows, GroupPiece& piece) {
  const std::span<const Row> rows = batch_rows.subspan(piece.begin, piece.count);
  const std::span<Slot> slots = std::span(group_->slots).subspan(piece.row_begin, piece.count);
  Slot next = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, rows.size() - begin);
    look_up_ahead(rows.subspan(begin, count), next, slots.subspan(begin, count));
    for (std::size_t i = begin; i < begin + count; ++i)
      if (slots[i] != no_slot && records_[slots[i]].id != rows[i].id) slots[i] = find(rows[i].id);
    next = slots[begin + count - 1] + 1;
  }

  piece.first.fill(0);
  const auto share_of = [](Slot slot) {
    return slot == no_slot ? Group::unknown : Group::share_of(slot);
  };
  for (const Slot slot : slots) ++piece.first[share_of(slot) + 1];
  std::partial_sum(piece.first.begin(), piece.first.end(), piece.first.begin());
  std::array<std::uint16_t, Group::share_count + 1> next_of;
  std::copy_n(piece.first.begin(), next_of.size(), next_of.begin());
  for (std::size_t i = 0; i < slots.size(); ++i)
    group_->order[piece.row_begin + next_of[share_of(slots[i])]++] = static_cast<std::uint16_t>(i);
}

/// Applies the rows of objects that were not in the table before the update.
template <class Batch>
void ObjectTable::update_unknown(const Batch& batch, const GroupPiece& piece, Staging& staging) {
  for (std::size_t i = piece.first[Group::unknown]; i < piece.first[Group::unknown + 1]; ++i) {
    const std::size_t row = piece.begin + group_->order[piece.row_begin + i];
    batch.statuses[row] = update_row(batch, row, no_slot, staging);
  }
}

UpdateStatus ObjectTable::update_row(const ObjectBatch& batch, std::size_t row, Slot likely,
                                     Staging& staging) {
  return update_one(batch.rows[row], likely, batch.time_us_max, staging);
}

UpdateStatus ObjectTable::update_row(const VectorBatch& batch, std::size_t row, Slot likely,
                                     Staging& staging) {
  return update_vector_one(batch.rows[row], batch.components.row(static_cast<VectorRow>(row)),
                           likely, batch.time_us_max, staging);
}

/// Applies the batches' rows of a share to the records, in order. Then an object that has a row in
/// the staging gets this row rewritten. An object that has none is noted for stage_shares().
template <class Batch>
void ObjectTable::take_share(std::span<const Batch> batches, std::size_t share, Staging& staging) {
  Group& group = *group_;
  Totals totals;
  Slot* const newly_staged = group.newly_staged.data() + group.share_begin[share];
  std::size_t newly_staged_count = 0;
  for (const GroupPiece& piece : group.pieces) {
    const Batch& batch = batches[piece.batch];
    const std::uint16_t* const order = group.order.data() + piece.row_begin;
    const Slot* const slots = group.slots.data() + piece.row_begin;
    const std::size_t end = piece.first[share + 1];
    for (std::size_t i = piece.first[share]; i < end; ++i) {
      if (i + prefetch_rows < end) {
        const std::size_t ahead = order[i + prefetch_rows];
        prefetch(&batch.rows[piece.begin + ahead]);
        prefetch_to_write(&records_[slots[ahead]]);
      }
      if (i + prefetch_rows / 2 < end)
        prefetch_staged(std::span(slots + order[i + prefetch_rows / 2], 1), staging);
      const std::size_t row = piece.begin + order[i];
      const Slot slot = slots[order[i]];
      const UpdateStatus status = take_known(batch, row, slot, totals);
      if (status != UpdateStatus::accepted) {
        batch.statuses[row] = status;
        continue;
      }
      ObjectRecord& record = records_[slot];
      if (record.staged_row == ObjectRecord::staged_soon) continue;
      if (is_staged(slot, staging)) {
        write_staged(slot, staging);
      } else {
        record.staged_row = ObjectRecord::staged_soon;
        newly_staged[newly_staged_count++] = slot;
      }
    }
  }
  group.newly_staged_count[share] = newly_staged_count;
  group.totals[share] = totals;
}

template <class Batch>
UpdateStatus ObjectTable::take_known(const Batch& batch, std::size_t row, Slot slot,
                                     Totals& totals) {
  const auto& update = batch.rows[row];
  UpdateStatus status = judge(update, batch.time_us_max);
  if (status == UpdateStatus::accepted) status = take(update, slot, totals);
  if constexpr (std::same_as<Batch, VectorBatch>)
    if (status == UpdateStatus::accepted)
      std::ranges::copy(batch.components.row(static_cast<VectorRow>(row)),
                        components_of(slot).begin());
  return status;
}

/// Writes the rows of all objects that were not staged before.
void ObjectTable::stage_shares(Staging& staging, ThreadPool& pool) {
  Group& group = *group_;
  std::array<std::size_t, Group::share_count> first_row{};
  std::size_t rows = staging.objects.size();
  for (std::size_t share = 0; share < Group::share_count; ++share) {
    first_row[share] = rows;
    rows += group.newly_staged_count[share];
    const Totals& totals = group.totals[share];
    totals_.alive_count += totals.alive_count;
    totals_.oldest_time_us = std::min(totals_.oldest_time_us, totals.oldest_time_us);
    totals_.newest_time_us = std::max(totals_.newest_time_us, totals.newest_time_us);
  }
  staging.objects.resize(rows);
  if (options_.dimension > 0) resize_columns(staging);
  pool.run(Group::share_count, [&](std::size_t share, unsigned) {
    const Slot* const slots = group.newly_staged.data() + group.share_begin[share];
    const std::size_t count = group.newly_staged_count[share];
    for (std::size_t i = 0; i < count; ++i) {
      if (i + prefetch_rows < count) prefetch_to_write(&records_[slots[i + prefetch_rows]]);
      records_[slots[i]].staged_row = static_cast<std::uint32_t>(first_row[share] + i);
      staging.objects[first_row[share] + i].slot = slots[i];
      write_staged(slots[i], staging);
    }
  });
}

}  // namespace starling
