// Sorted runs of rows in a temporary file, and their merge. RowSorter's own.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/traces/row_stream.hpp"

namespace starling::sim {

enum class RowOrder : std::uint8_t {
  file,  ///< as they come
  time,
  object_and_time,
};

/// What rows are ordered by; equal for rows that keep the order in which they came.
struct RowKey {
  std::uint64_t object = 0;
  std::int64_t time_us = 0;
  auto operator<=>(const RowKey&) const = default;
};

constexpr RowKey key_of(const TraceRow& row, RowOrder order) {
  if (order == RowOrder::file) return {};
  return {order == RowOrder::time ? 0 : to_number(row.id), row.time_us};
}

/// A file without a name: nothing is left of it, however the program ends.
class ScratchFile {
 public:
  /// Empty: $TMPDIR, or /tmp. Throws std::system_error, as do the members.
  explicit ScratchFile(std::string directory);
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;

  const std::string& directory() const { return directory_; }

  void append(std::span<const TraceRow> rows);
  /// Fills `rows` from the row of this number on; the file must hold them.
  void read(std::uint64_t first, std::span<TraceRow> rows) const;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string directory_;
  int descriptor_ = -1;
};

/// Runs one behind the other in one file.
class RowRuns {
 public:
  struct Run {
    std::uint64_t begin = 0;  ///< rows from the file's start
    std::uint64_t end = 0;
  };

  RowRuns(RowOrder order, const std::string& directory) : order_(order), file_(directory) {}

  RowOrder order() const { return order_; }
  const ScratchFile& file() const { return file_; }
  std::span<const Run> runs() const { return runs_; }
  std::uint64_t row_count() const { return runs_.empty() ? 0 : runs_.back().end; }

  /// What is appended from here on, in order, is a run; or goes on with the last one, if it follows
  /// it, so that a file in order makes one run.
  void begin_run() { run_begins_ = true; }
  void append(std::span<const TraceRow> rows);

 private:
  RowOrder order_;
  ScratchFile file_;
  std::vector<Run> runs_;
  RowKey last_key_{};
  bool run_begins_ = true;
};

/// All rows in order, those of an earlier run first among equal ones. Merges in several passes if
/// there are more runs than buffers in so many bytes.
std::unique_ptr<RowStream> merge(RowRuns runs, std::size_t memory_bytes, std::int64_t newest_us);

}  // namespace starling::sim
