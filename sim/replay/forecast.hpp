// SPDX-License-Identifier: Apache-2.0
// Counts the ticks and lists that a replay will have, while its trace is read. Finds rows with
// times so far from all others that they cause most of the ticks. `starling replay` prints both
// before the first tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "starling/knn/words/types.hpp"
#include "starling/sim/data/traces/trace.hpp"

namespace starling::sim {

/// A group of at most 1 % of the rows, earlier or later than all others. The gap between the group
/// and the others is at least as long as the time span of the others.
struct FarRows {
  bool is_after = false;  ///< true: later than the others; false: earlier
  std::uint64_t rows = 0;
  std::int64_t oldest_us = 0;
  std::int64_t newest_us = 0;
  /// Newest time of the others if is_after, else their oldest time.
  std::int64_t others_end_us = 0;
  std::uint64_t ticks = 0;  ///< number of ticks that a replay saves without these rows
};

class Forecast {
 public:
  /// `tick_us` is positive. `in_file_order`: the replay keeps the order in which rows are added, so
  /// its clock starts at the first row.
  Forecast(std::int64_t tick_us, bool in_file_order);

  void add(const TraceRow& row);

  std::uint64_t rows() const { return rows_; }
  std::size_t objects() const { return first_us_.size(); }
  bool has(ObjectId id) const { return first_us_.contains(id); }

  // The functions below need at least one row.
  std::int64_t start_us() const;  ///< the time of the first tick
  std::int64_t end_us() const;    ///< the time of the last tick
  std::uint64_t ticks() const;
  /// An upper bound of the number of ticks that take rows. Bounded memory keeps it from being
  /// exact.
  std::uint64_t ticks_with_rows_max() const;
  /// The number of lists in all ticks if each object has a list from its first row on.
  std::uint64_t lists_of_objects() const;
  /// Returns at most two groups: one before and one after the other rows.
  std::vector<FarRows> far_rows() const;

 private:
  struct Bucket {
    std::uint64_t rows = 0;
    std::int64_t oldest_us = 0;
    std::int64_t newest_us = 0;
  };
  using Buckets = std::unordered_map<std::int64_t, Bucket>;

  void count(std::int64_t time_us);
  void widen();
  std::uint64_t ticks_between(std::int64_t from_us, std::int64_t to_us) const;

  std::int64_t tick_us_;
  bool in_file_order_;
  std::uint64_t rows_ = 0;
  std::int64_t first_row_us_ = 0;
  std::int64_t oldest_us_ = 0;
  std::int64_t newest_us_ = 0;
  std::unordered_map<ObjectId, std::int64_t> first_us_;  ///< the time of each object's oldest row
  /// Rows by the number of their tick. Bucket i has the 2^shift_ ticks from i * 2^shift_ on.
  Buckets buckets_;
  int shift_ = 0;
};

}  // namespace starling::sim
