// SPDX-License-Identifier: Apache-2.0
// Lets the caller of a long computation follow it and end it. The computation calls a Poll between
// steps; the Poll calls the caller's function a few times a second. ThreadPool and the searchers of
// vectors do so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace starling {

class Poll {
 public:
  /// Between two calls of the caller's function.
  static constexpr std::chrono::milliseconds interval{50};

  Poll() = default;  ///< calls nothing
  /// An exception of `ask` ends the computation.
  explicit Poll(std::function<void()> ask) : ask_(std::move(ask)), due_(Clock::now() + interval) {}

  explicit operator bool() const { return static_cast<bool>(ask_); }

  /// Call this between steps of microseconds to milliseconds. Throws what `ask` throws.
  void operator()() {
    if (!ask_ || Clock::now() < due_) return;
    ask_();
    due_ = Clock::now() + interval;
  }

  /// The same for steps of nanoseconds: looks at the clock in one of 4,096 calls.
  void after_tiny_step() {
    if (++tiny_steps_ % 4096 == 0) (*this)();
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::function<void()> ask_;
  Clock::time_point due_;
  std::uint32_t tiny_steps_ = 0;
};

}  // namespace starling
