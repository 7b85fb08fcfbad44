// SPDX-License-Identifier: Apache-2.0
// Gives each change of the tables its turn, one after another: slices of a long change on the loop,
// or a group of updates on the thread beside it. Tables owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "starling/stream/pools/beside_loop.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/sliced_work.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Turns {
 public:
  /// `has_room_again` is called after each turn of the thread beside the loop, and when no change
  /// in slices is left.
  Turns(Executor& executor, std::function<void()> has_room_again)
      : executor_(executor),
        has_room_again_(std::move(has_room_again)),
        beside_(executor),
        slices_(executor) {}

  /// See SlicedWork::start.
  void slice(SlicedWork::Step step, std::function<void()> done) {
    slices_.start(std::move(step), told_when_free(std::move(done)));
  }
  /// See SlicedWork::start_next.
  void slice_next(SlicedWork::Step step, std::function<void()> done) {
    slices_.start_next(std::move(step), told_when_free(std::move(done)));
  }
  /// See BesideLoop::start.
  void start_beside(std::function<void()> work, std::function<void()> done) {
    beside_.start(std::move(work), [this, done = std::move(done)] {
      done();
      has_room_again_();
    });
  }
  /// Waits until the thread beside the loop is free.
  void settle() { beside_.settle(); }

  /// Returns whether a change is being applied in slices.
  bool is_sliced() const { return slices_.is_busy(); }
  /// Returns whether the thread beside the loop has a turn.
  bool is_beside() const { return beside_.is_busy(); }
  /// See BesideLoop::waited_us.
  std::int64_t waited_us() const { return beside_.waited_us(); }
  std::int64_t now_us() const { return executor_.now_us(); }

 private:
  std::function<void()> told_when_free(std::function<void()> done) {
    return [this, done = std::move(done)] {
      done();
      if (!slices_.is_busy()) has_room_again_();
    };
  }

  Executor& executor_;
  std::function<void()> has_room_again_;
  BesideLoop beside_;
  SlicedWork slices_;
};

}  // namespace starling::stream
