// SPDX-License-Identifier: Apache-2.0
// Sorts the lists of finished ticks by stream, in slices, and lets the tables take them. Requests
// may change the tables between two slices, because the queries keep their slots until the tick is
// finished. Ticker owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "starling/knn/engine/tick_result.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/sliced_work.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class ResultSorting {
 public:
  /// `sorted` is called, in the order of ticks, when Processor::end_finish_tick may be called. It
  /// gets the time of the steady clock at which the result arrived.
  ResultSorting(Executor& executor, Tables& tables,
                std::function<void(std::int64_t arrived_us)> sorted)
      : executor_(executor), tables_(tables), sorted_(std::move(sorted)), slices_(executor) {}

  /// Takes the results of ticks, in order.
  void take(std::unique_ptr<TickResult> result);

 private:
  struct Arrived {
    std::int64_t at_us = 0;
    std::unique_ptr<TickResult> result;
  };

  void sort_next();

  Executor& executor_;
  Tables& tables_;
  std::function<void(std::int64_t)> sorted_;
  SlicedWork slices_;
  std::deque<Arrived> arrived_;  ///< sorted by tick
  bool is_busy_ = false;         ///< a result is being sorted, or waits for the tables
};

}  // namespace starling::stream
