// SPDX-License-Identifier: Apache-2.0
// Sorts rows for tests. Returns the sorted rows as a stream or as a vector.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "starling/sim/data/traces/row_sorter.hpp"

namespace starling::sim {

inline std::unique_ptr<RowStream> stream_of(std::span<const TraceRow> rows,
                                            const SortOptions& options = {}) {
  RowSorter sorter(options);
  for (const TraceRow& row : rows) sorter.add(row);
  return sorter.finish();
}

inline std::unique_ptr<RowStream> stream_of(std::span<const TraceRow> rows, RowOrder order) {
  SortOptions options;
  options.order = order;
  return stream_of(rows, options);
}

inline std::vector<TraceRow> rows_in(RowStream& stream) {
  std::vector<TraceRow> rows;
  for (auto block = stream.next_block(); !block.empty(); block = stream.next_block())
    rows.insert(rows.end(), block.begin(), block.end());
  return rows;
}

inline std::vector<TraceRow> sorted(std::span<const TraceRow> rows,
                                    const SortOptions& options = {}) {
  return rows_in(*stream_of(rows, options));
}

}  // namespace starling::sim
