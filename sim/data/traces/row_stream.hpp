// SPDX-License-Identifier: Apache-2.0
// Delivers the rows of a trace block by block. Therefore a replay need not hold all rows in memory.
// RowSorter returns a RowStream; the replay loop and `starling convert` read it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

class RowStream {
 public:
  /// `newest_us` is the time of the newest row; it is meaningless if `row_count` is 0.
  RowStream(std::uint64_t row_count, std::int64_t newest_us)
      : row_count_(row_count), newest_us_(newest_us) {}
  virtual ~RowStream() = default;
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  std::uint64_t row_count() const { return row_count_; }
  std::int64_t newest_us() const { return newest_us_; }

  /// Returns the next rows, or an empty span at the end. The rows are valid until the next call.
  /// Throws std::system_error if the temporary file cannot be read.
  virtual std::span<const TraceRow> next_block() = 0;

 private:
  const std::uint64_t row_count_;
  const std::int64_t newest_us_;
};

/// Rows in memory, delivered as one block.
class HeldRows : public RowStream {
 public:
  HeldRows(std::vector<TraceRow> rows, std::int64_t newest_us)
      : RowStream(rows.size(), newest_us), rows_(std::move(rows)) {}

  std::span<const TraceRow> next_block() override {
    if (std::exchange(handed_out_, true)) return {};
    return rows_;
  }

 private:
  const std::vector<TraceRow> rows_;
  bool handed_out_ = false;
};

}  // namespace starling::sim
