// SPDX-License-Identifier: Apache-2.0
// Each slice is a turn of the loop. The next slice is posted, so that it runs after all handlers
// that wait already: see sliced_work.hpp.
#include "starling/stream/pools/sliced_work.hpp"

#include <utility>

namespace starling::stream {

void SlicedWork::start(Step step, std::function<void()> done) {
  works_.push_back({std::move(step), std::move(done)});
  if (works_.size() == 1) run();
}

void SlicedWork::start_next(Step step, std::function<void()> done) {
  if (works_.empty()) return start(std::move(step), std::move(done));
  works_.insert(works_.begin() + 1, {std::move(step), std::move(done)});
}

void SlicedWork::run() {
  const std::int64_t until_us = executor_.now_us() + slice_us;
  bool is_done = false;
  do is_done = works_.front().step();
  while (!is_done && executor_.now_us() < until_us);
  std::function<void()> done;
  if (is_done) {
    done = std::move(works_.front().done);
    works_.pop_front();
  }
  if (!works_.empty()) executor_.post([this] { run(); });
  if (done) done();
}

}  // namespace starling::stream
