// SPDX-License-Identifier: Apache-2.0
// Lets the caller of a long computation follow and end it. The computation calls a Poll between its
// steps, and the Poll calls the caller's function a few times a second. ThreadPool and the
// searchers of vectors call a Poll.
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
  /// The shortest time between two calls of the caller's function.
  static constexpr std::chrono::milliseconds interval{50};

  Poll() = default;  ///< calls nothing
  /// Calls `ask`. An exception that `ask` throws ends the computation.
  explicit Poll(std::function<void()> ask) : state_(std::make_shared<State>(std::move(ask))) {}

  explicit operator bool() const { return state_ != nullptr; }

  /// Call this between steps of microseconds to milliseconds. Throws what `ask` throws.
  void operator()() {
    if (!state_ || Clock::now() < state_->due) return;
    state_->ask();
    state_->due = Clock::now() + interval;
  }

  /// Call this between steps of nanoseconds instead. It reads the clock in one of 4,096 calls.
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
