// SPDX-License-Identifier: Apache-2.0
// Lets the caller of a long computation follow it and end it. The computation calls a Poll between
// steps; the Poll calls the caller's function a few times a second. ThreadPool and the searchers of
// vectors do so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace starling {

/// Copies of a Poll count as one: together they call the function once an interval. One thread at a
/// time may call them.
class Poll {
 public:
  /// Between two calls of the caller's function.
  static constexpr std::chrono::milliseconds interval{50};

  Poll() = default;  ///< calls nothing
  /// An exception of `ask` ends the computation.
  explicit Poll(std::function<void()> ask) : state_(std::make_shared<State>(std::move(ask))) {}

  explicit operator bool() const { return state_ != nullptr; }

  /// Call this between steps of microseconds to milliseconds. Throws what `ask` throws.
  void operator()() {
    if (!state_ || Clock::now() < state_->due) return;
    state_->ask();
    state_->due = Clock::now() + interval;
  }

  /// The same for steps of nanoseconds: looks at the clock in one of 4,096 calls.
  void after_tiny_step() {
    if (++tiny_steps_ % 4096 == 0) (*this)();
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct State {
    explicit State(std::function<void()> function) : ask(std::move(function)) {}
    std::function<void()> ask;
    Clock::time_point due = Clock::now() + interval;
  };

  std::shared_ptr<State> state_;
  std::uint32_t tiny_steps_ = 0;
};

}  // namespace starling
