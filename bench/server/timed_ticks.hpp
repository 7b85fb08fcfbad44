// SPDX-License-Identifier: Apache-2.0
// TimedTicks advances ticks on request and measures the time of each tick: from the first update
// sent until the subscriber holds every list that the tick reports. server_ticks.cpp and
// server_vectors.cpp use it.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/bench/clock.hpp"
#include "starling/bench/server/server_listener.hpp"
#include "starling/bench/server/server_load.hpp"

namespace starling::bench {

class TimedTicks {
 public:
  TimedTicks(LoadClient& client, Listener& listener, std::int64_t period_us)
      : client_(client), listener_(listener), period_us_(period_us) {}

  /// Runs one tick and returns its milliseconds. `post(tau_us)` sends the updates of the tick.
  template <class Post>
  double run(const Post& post) {
    tau_us_ += period_us_;
    const auto start = Clock::now();
    post(tau_us_);
    const protocol::TickDone done = client_.client().advance_tick(tau_us_).value();
    const auto held_at = listener_.wait_for(done.tick);
    client_.flush();
    engine_ms_.push_back(done.build_ms + done.search_ms + done.diff_ms);
    lists_ += static_cast<double>(done.list_count);
    return ms_between(start, held_at);
  }

  /// Clears the figures. Call after the ticks that only warm up.
  void forget_warm_up() {
    engine_ms_.clear();
    lists_ = 0;
  }

  /// Returns, for each tick, the milliseconds that the engine took for index, search and
  /// comparison.
  const std::vector<double>& engine_ms() const { return engine_ms_; }
  double lists_per_tick() const { return lists_ / static_cast<double>(engine_ms_.size()); }

 private:
  LoadClient& client_;
  Listener& listener_;
  std::int64_t period_us_;
  std::int64_t tau_us_ = 0;
  std::vector<double> engine_ms_;
  double lists_ = 0;
};

}  // namespace starling::bench
