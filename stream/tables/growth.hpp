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
  /// Returns whether the last request that would add something found no memory for it.
  bool is_short() const { return is_short_; }
  /// Call it when memory ran out while the tables grew.
  void ran_out() { is_short_ = true; }

  /// The memory, in bytes, of the engine's state and index after the last tick.
  void set_engine_bytes(std::uint64_t bytes) { engine_bytes_ = bytes; }
  std::uint64_t engine_bytes() const { return engine_bytes_; }

 private:
  void warn(std::int64_t now_us);

  Executor& executor_;
  Processor& processor_;
  NameTable& names_;
  MemoryBudget budget_;
  std::uint64_t engine_bytes_ = 0;
  bool is_short_ = false;
  std::int64_t warned_us_ = std::numeric_limits<std::int64_t>::min() / 2;
};

}  // namespace starling::stream
