// SPDX-License-Identifier: Apache-2.0
// AheadEngine lets an engine that takes one tick at a time take two, as a GPU engine does. With it,
// every machine tests what happens while two ticks are under way. A test chooses ticks that fail.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/engine/kept_rows.hpp"

namespace starling::test {

class AheadEngine final : public Engine {
 public:
  static constexpr std::size_t ticks_max = 2;

  /// Shared by the test and the engine. The test may add ticks to `failing` before they begin.
  struct Shared {
    std::mutex mutex;
    std::set<Tick> failing;
    std::atomic<int> begun_ahead{0};  ///< ticks that began while another one was under way
    /// A tick's result is held back for this long, but only until the next tick begins.
    std::chrono::milliseconds held_back{0};
  };

  AheadEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), engine_(std::move(engine)) {
    engine_->set_result_handler(
        [this](std::unique_ptr<TickResult> result) { pass_on(std::move(result)); });
  }

  std::string_view name() const override { return engine_->name(); }
  SpaceOptions space() const override { return engine_->space(); }
  const EngineLimits& limits() const override { return engine_->limits(); }
  EngineBytes bytes_used() const override { return engine_->bytes_used(); }
  void set_result_handler(ResultHandler handler) override { handler_ = std::move(handler); }
  Staging& staging() override { return staging_; }

  /// Takes parts of staged rows, but not after each update, so that some rows are written again.
  void take_ahead() override {
    if (++updates_ % 2 == 0 && staging_.objects.size() > staging_.taken_rows) staging_.end_part();
  }

  bool has_room() const override {
    const std::lock_guard lock(mutex_);
    return under_way_.size() < ticks_max;
  }

  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    std::unique_lock lock(mutex_);
    if (under_way_.size() == ticks_max) return false;
    if (!under_way_.empty()) ++shared_->begun_ahead;
    under_way_.push_back({tick, tau_us, std::exchange(staging_, Staging())});
    begun_.notify_one();
    if (under_way_.size() == 1) compute_next(lock);
    return true;
  }

  void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) override {
    engine_->search_finished(std::move(queries), std::move(handler));
  }
  std::optional<Answers> answer_at_once(std::span<const OneShotQuery> queries) override {
    return engine_->answer_at_once(queries);
  }
  void read_lists(std::vector<Slot> queries, AnswersHandler handler) override {
    engine_->read_lists(std::move(queries), std::move(handler));
  }
  EngineState export_state() override { return engine_->export_state(); }
  void import_state(const EngineState& state) override { engine_->import_state(state); }

 private:
  struct BegunTick {
    Tick tick{};
    std::int64_t tau_us = 0;
    Staging rows;
  };

  /// Begins the oldest tick under way on the engine, or fails it.
  void compute_next(std::unique_lock<std::mutex>& lock) {
    BegunTick& next = under_way_.front();
    keep_rows(next.rows, kept_);
    if (fails(next.tick)) {
      auto result = std::make_unique<TickResult>();
      result->tick = next.tick;
      result->tau_us = next.tau_us;
      result->error = "the test lets this tick fail";
      lock.unlock();
      return pass_on(std::move(result));
    }
    std::swap(engine_->staging(), kept_);
    check_invariant(engine_->begin_tick(next.tick, next.tau_us), "the engine has room");
  }

  // The next tick begins after the handler has returned, so that results arrive in tick order.
  void pass_on(std::unique_ptr<TickResult> result) {
    {
      std::unique_lock lock(mutex_);
      begun_.wait_for(lock, shared_->held_back, [this] { return under_way_.size() == ticks_max; });
    }
    handler_(std::move(result));
    std::unique_lock lock(mutex_);
    under_way_.pop_front();
    if (!under_way_.empty()) compute_next(lock);
  }

  bool fails(Tick tick) {
    const std::lock_guard lock(shared_->mutex);
    return shared_->failing.contains(tick);
  }

  std::shared_ptr<Shared> shared_;
  ResultHandler handler_;
  Staging staging_;
  std::uint64_t updates_ = 0;  ///< calls of take_ahead
  mutable std::mutex mutex_;
  std::condition_variable begun_;  ///< notified when a tick begins
  std::deque<BegunTick> under_way_;
  Staging kept_;                    ///< rows of failed ticks, and of the tick that begins
  std::unique_ptr<Engine> engine_;  ///< destroyed first, because its threads use the rest
};

}  // namespace starling::test
