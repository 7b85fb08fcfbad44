// SPDX-License-Identifier: Apache-2.0
// Sorts one result after another: see result_sorting.hpp.
#include "starling/stream/publishing/result_sorting.hpp"

namespace starling::stream {

void ResultSorting::take(std::unique_ptr<TickResult> result) {
  arrived_.push_back({executor_.now_us(), std::move(result)});
  if (!is_busy_) sort_next();
}

void ResultSorting::sort_next() {
  if (arrived_.empty()) return;
  is_busy_ = true;
  const std::int64_t arrived_us = arrived_.front().at_us;
  const auto held =
      std::make_shared<std::unique_ptr<TickResult>>(std::move(arrived_.front().result));
  arrived_.pop_front();
  slices_.start(
      [this, held] {
        tables_.settled();
        if (*held) tables_.processor().begin_finish_tick(std::move(*held));
        return tables_.processor().sort_some();
      },
      [this, arrived_us] {
        tables_.when_free([this, arrived_us] {
          is_busy_ = false;
          sorted_(arrived_us);
          if (!is_busy_) sort_next();
        });
      });
}

}  // namespace starling::stream
