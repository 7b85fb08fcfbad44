// SPDX-License-Identifier: Apache-2.0
// Decides whether the tables may take anything new, by the memory that is left. Tables owns it.
#pragma once

#include <cstdint>
#include <limits>

#include "starling/knn/tables/processor.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/state/memory_budget.hpp"
#include "starling/stream/state/name_table.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Growth {
 public:
  Growth(Executor& executor, MemoryBudget::Options options, Processor& processor, NameTable& names);

  /// Lets the tables grow if there is memory for `bytes` more bytes, and otherwise forbids it.
  /// Returns whether they may grow. No other thread may use the processor meanwhile.
  bool let_grow(std::uint64_t bytes);
  /// Limits the memory of all lists (QueryTable::set_list_bytes_max) to what is left. Memory that
  /// earlier lists will take, and have not taken yet, is not left. Call it before queries are put
  /// and before a tick removes those that have outgrown the limit.
  void limit_lists();
  /// Does the same, but only if the lists take more than those of all earlier ticks.
  void limit_lists_if_grown() {
    if (list_bytes() > list_bytes_most_) limit_lists();
  }
  /// Counts the memory that the lists of a tick will take. Call it when the tick begins.
  void lists_begin();
  /// Call it for each tick of a recovery that would be searched. Returns whether all its lists fit
  /// in memory, and counts them if so.
  bool recover_lists();
  /// Call it after the recovery. Counts the lists of a log's snapshot if no tick was searched.
  void end_recovery();
  /// Says whether the last queries that were put found no memory for their lists.
  void set_lists_short(bool are_short) { are_lists_short_ = are_short; }
  bool are_lists_short() const { return are_lists_short_; }
  std::uint64_t bytes_max() const { return budget_.bytes_max(); }

  /// Returns whether the last request that would add something found no memory for it.
  bool is_short() const { return is_short_; }
  /// Call it when memory ran out while the tables grew.
  void ran_out() { is_short_ = true; }

  /// The memory, in bytes, of the engine's state and index after the last tick.
  void set_engine_bytes(std::uint64_t bytes) { engine_bytes_ = bytes; }
  std::uint64_t engine_bytes() const { return engine_bytes_; }

 private:
  void warn(std::int64_t now_us);
  std::uint64_t list_bytes() const;
  std::uint64_t bytes_of_new_objects() const;

  Executor& executor_;
  Processor& processor_;
  NameTable& names_;
  MemoryBudget budget_;
  std::uint64_t engine_bytes_ = 0;
  /// What the lists of the largest tick so far take. The engine keeps this memory for later ticks.
  std::uint64_t list_bytes_most_ = 0;
  /// The resident memory of the process when these lists have been made and sent. 0: they are.
  std::uint64_t bytes_with_lists_ = 0;
  std::uint64_t objects_then_ = 0;  ///< slots of objects when bytes_with_lists_ was set
  std::uint64_t list_bytes_max_ = std::numeric_limits<std::uint64_t>::max();
  bool are_lists_short_ = false;
  bool is_short_ = false;
  std::int64_t warned_us_ = std::numeric_limits<std::int64_t>::min() / 2;
};

}  // namespace starling::stream
