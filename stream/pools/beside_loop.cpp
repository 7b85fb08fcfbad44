// SPDX-License-Identifier: Apache-2.0
// The thread posts a call of finish() to the loop. If settle() is called before that call, settle()
// waits, calls finish() itself, and the posted call does nothing. See beside_loop.hpp.
#include "starling/stream/pools/beside_loop.hpp"

#include <utility>

namespace starling::stream {

void BesideLoop::start(std::function<void()> work, std::function<void()> done) {
  is_busy_ = true;
  has_returned_ = false;
  done_ = std::move(done);
  thread_.post([this, work = std::move(work), number = number_] {
    try {
      work();
    } catch (...) {
      error_ = std::current_exception();
    }
    executor_.post([this, number] {
      if (is_busy_ && number == number_) finish();
    });
    has_returned_ = true;
    has_returned_.notify_one();
  });
}

void BesideLoop::settle() {
  while (is_busy_) finish();
}

void BesideLoop::finish() {
  if (!has_returned_) {
    const std::int64_t since_us = executor_.now_us();
    has_returned_.wait(false);
    waited_us_ += executor_.now_us() - since_us;
  }
  is_busy_ = false;
  ++number_;
  const auto done = std::exchange(done_, {});
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  done();
}

}  // namespace starling::stream
