// SPDX-License-Identifier: Apache-2.0
// Collects rows. When memory is full, sorts the collected rows and writes them to the temporary
// file. See row_sorter.hpp.
#include "starling/sim/data/traces/row_sorter.hpp"

#include <algorithm>

namespace starling::sim {
namespace {

// The factor 3/2 has two reasons. A stable sort needs a buffer that is half as large as the rows.
// While a vector doubles to its full size, the old half and the new whole exist at the same time.
constexpr std::size_t bytes_per_held_row = sizeof(TraceRow) * 3 / 2;

}  // namespace

RowSorter::RowSorter(const SortOptions& options)
    : options_(options),
      rows_held_max_(std::max<std::size_t>(options.memory_bytes / bytes_per_held_row, 1)) {}

void RowSorter::add(const TraceRow& row) {
  if (rows_.size() == rows_held_max_) spill();
  if (rows_.size() == rows_.capacity())
    rows_.reserve(std::min(rows_held_max_, std::max<std::size_t>(rows_.size() * 2, 1024)));
  rows_.push_back(row);
  ++row_count_;
  newest_us_ = std::max(newest_us_, row.time_us);
}

std::unique_ptr<RowStream> RowSorter::finish() {
  if (!runs_) {
    sort();
    return std::make_unique<HeldRows>(std::move(rows_), newest_us_);
  }
  spill();
  rows_ = std::vector<TraceRow>();  // assigning {} would keep the memory
  return merge(std::move(*runs_), options_.memory_bytes, newest_us_);
}

void RowSorter::sort() {
  const RowOrder order = options_.order;
  if (order == RowOrder::file) return;
  std::ranges::stable_sort(rows_, {}, [order](const TraceRow& row) { return key_of(row, order); });
}

void RowSorter::spill() {
  if (!runs_) runs_.emplace(options_.order, options_.temp_dir);
  sort();
  runs_->begin_run();
  runs_->append(rows_);
  rows_.clear();
}

}  // namespace starling::sim
