// SPDX-License-Identifier: Apache-2.0
// Sorts any number of rows in bounded memory. Rows that do not fit into memory are sorted in runs,
// written to a temporary file and merged at the end. `starling replay` and `starling convert` use
// RowSorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/sim/data/traces/row_runs.hpp"
#include "starling/sim/data/traces/row_stream.hpp"

namespace starling::sim {

struct SortOptions {
  RowOrder order = RowOrder::time;
  std::size_t memory_bytes = std::size_t{256} << 20;  ///< memory for the rows and for sorting them
  std::string temp_dir{};  ///< folder of the temporary file; empty: $TMPDIR, or /tmp
};

/// Rows with equal keys keep the order in which they were added. The result does not depend on the
/// memory limit.
class RowSorter {
 public:
  explicit RowSorter(const SortOptions& options);

  /// add() and finish() throw std::system_error if the temporary file fails.
  void add(const TraceRow& row);

  std::uint64_t row_count() const { return row_count_; }

  /// Returns the rows in order. Call once, after the last add().
  std::unique_ptr<RowStream> finish();

 private:
  void sort();
  void spill();

  SortOptions options_;
  std::size_t rows_held_max_;
  std::uint64_t row_count_ = 0;
  std::int64_t newest_us_ = std::numeric_limits<std::int64_t>::min();
  std::vector<TraceRow> rows_;
  std::optional<RowRuns> runs_;  ///< set once the rows exceed the memory
};

}  // namespace starling::sim
