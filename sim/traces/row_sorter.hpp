// Any number of rows into order, in bounded memory: what doesn't fit is sorted in runs, which wait
// in a temporary file and are merged. `starling replay` and `starling convert` sort with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/traces/row_runs.hpp"
#include "sim/traces/row_stream.hpp"

namespace starling::sim {

struct SortOptions {
  RowOrder order = RowOrder::time;
  std::size_t memory_bytes = std::size_t{256} << 20;  ///< for rows, those being sorted included
  std::string temp_dir{};  ///< for what doesn't fit; empty: $TMPDIR, or /tmp
};

/// Rows that are equal in the order keep the one in which they were added. What comes out does not
/// depend on the memory or on the directory.
class RowSorter {
 public:
  explicit RowSorter(const SortOptions& options);

  /// Throws std::system_error, as finish() does, if the temporary file fails.
  void add(const TraceRow& row);

  std::uint64_t row_count() const { return row_count_; }

  /// The rows in order; once, after the last of them.
  std::unique_ptr<RowStream> finish();

 private:
  void sort();
  void spill();

  SortOptions options_;
  std::size_t rows_held_max_;
  std::uint64_t row_count_ = 0;
  std::int64_t newest_us_ = std::numeric_limits<std::int64_t>::min();
  std::vector<TraceRow> rows_;
  std::optional<RowRuns> runs_;  ///< once something didn't fit
};

}  // namespace starling::sim
