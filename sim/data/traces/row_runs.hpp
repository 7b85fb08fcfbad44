// SPDX-License-Identifier: Apache-2.0
// Keeps sorted runs of rows in a temporary file and merges them. Only RowSorter uses RowRuns.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/sim/data/traces/row_stream.hpp"

namespace starling::sim {

enum class RowOrder : std::uint8_t {
  file,  ///< the order in which the rows are read
  time,
  object_and_time,
};

/// The sort key. Rows with equal keys keep the order in which they were added.
struct RowKey {
  std::uint64_t object = 0;
  std::int64_t time_us = 0;
  auto operator<=>(const RowKey&) const = default;
};

constexpr RowKey key_of(const TraceRow& row, RowOrder order) {
  if (order == RowOrder::file) return {};
  return {order == RowOrder::time ? 0 : to_number(row.id), row.time_us};
}

/// A temporary file without a name. However the program ends, the system removes the file.
class ScratchFile {
 public:
  /// If `directory` is empty, the file is in $TMPDIR or, if that is not set, in /tmp. The
  /// constructor, append() and read() throw std::system_error on failure.
  explicit ScratchFile(std::string directory);
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;

  const std::string& directory() const { return directory_; }

  void append(std::span<const TraceRow> rows);
  /// Fills `rows` with the file's rows from row number `first` on, counted from 0. The file must
  /// have all of these rows.
  void read(std::uint64_t first, std::span<TraceRow> rows) const;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string directory_;
  int descriptor_ = -1;
};

/// Sorted runs, one after another in one file.
class RowRuns {
 public:
  struct Run {
    std::uint64_t begin = 0;  ///< row number in the file, counted from 0
    std::uint64_t end = 0;
  };

  RowRuns(RowOrder order, const std::string& directory) : order_(order), file_(directory) {}

  RowOrder order() const { return order_; }
  const ScratchFile& file() const { return file_; }
  std::span<const Run> runs() const { return runs_; }
  std::uint64_t row_count() const { return runs_.empty() ? 0 : runs_.back().end; }

  /// Rows that are appended until the next begin_run() must be in order. If these rows follow the
  /// last run in order, they continue that run. Otherwise they form a new run. Sorted input
  /// therefore makes a single run.
  void begin_run() { run_begins_ = true; }
  void append(std::span<const TraceRow> rows);

 private:
  RowOrder order_;
  ScratchFile file_;
  std::vector<Run> runs_;
  RowKey last_key_{};
  bool run_begins_ = true;
};

/// Returns all rows in order. Among rows with equal keys, those of earlier runs come first. Merges
/// in several passes if `memory_bytes` does not hold a buffer for each run. `newest_us` is the time
/// of the newest row.
std::unique_ptr<RowStream> merge(RowRuns runs, std::size_t memory_bytes, std::int64_t newest_us);

}  // namespace starling::sim
