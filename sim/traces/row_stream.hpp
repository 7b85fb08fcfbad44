// A trace's rows one block after the other, so that a replay needs not hold them all.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/traces/trace.hpp"

namespace starling::sim {

class RowStream {
 public:
  /// The time of the newest row counts only if there are rows.
  RowStream(std::uint64_t row_count, std::int64_t newest_us)
      : row_count_(row_count), newest_us_(newest_us) {}
  virtual ~RowStream() = default;
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  std::uint64_t row_count() const { return row_count_; }
  std::int64_t newest_us() const { return newest_us_; }

  /// The rows that follow, valid until the next call; none at the end. Throws std::system_error if
  /// they cannot be read back.
  virtual std::span<const TraceRow> next_block() = 0;

 private:
  const std::uint64_t row_count_;
  const std::int64_t newest_us_;
};

/// Rows in memory, as one block.
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
