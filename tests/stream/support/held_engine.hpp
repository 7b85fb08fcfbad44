// SPDX-License-Identifier: Apache-2.0
// HeldEngine is an Engine whose ticks stay under way until a test calls finish(). With it, tests
// see what the server does while a tick is under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "starling/knn/engine/engine.hpp"

namespace starling::stream {

class HeldEngine final : public Engine {
 public:
  /// The test controls the engine through this object, which lives longer than the engine.
  struct Control {
    std::mutex mutex;
    std::deque<std::function<void()>> under_way;  ///< functions that finish the ticks under way, in
                                                  ///< tick order
    std::size_t room = 1;                         ///< how many ticks may be under way
    std::string error;            ///< the error of the next tick; empty: it succeeds
    bool is_engine_lost = false;  ///< whether `error` is fatal
    std::string answers_error;    ///< the error of all answers; empty: they succeed
    std::atomic<int> begun{0};

    /// Finishes the oldest tick. Returns false if no tick is under way.
    bool finish() {
      std::function<void()> now;
      {
        const std::lock_guard lock(mutex);
        if (under_way.empty()) return false;
        now = std::move(under_way.front());
        under_way.pop_front();
      }
      now();
      return true;
    }
  };

  explicit HeldEngine(std::shared_ptr<Control> control) : control_(std::move(control)) {}
  ~HeldEngine() override {
    const std::lock_guard lock(control_->mutex);
    control_->under_way.clear();
  }

  std::string_view name() const override { return "held"; }
  SpaceOptions space() const override { return {}; }
  const EngineLimits& limits() const override { return limits_; }
  EngineBytes bytes_used() const override { return {}; }
  void set_result_handler(ResultHandler handler) override { handler_ = std::move(handler); }
  Staging& staging() override { return staging_; }

  bool has_room() const override {
    const std::lock_guard lock(control_->mutex);
    return control_->under_way.size() < control_->room;
  }

  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    staging_.clear();
    const std::lock_guard lock(control_->mutex);
    control_->under_way.push_back([this, tick, tau_us] {
      auto result = std::make_unique<TickResult>();
      result->tick = tick;
      result->tau_us = tau_us;
      result->error = control_->error;
      result->is_engine_lost = control_->is_engine_lost;
      handler_(std::move(result));
    });
    ++control_->begun;
    return true;
  }

  void search_finished(std::vector<OneShotQuery>, AnswersHandler handler) override {
    handler(answers());
  }
  void read_lists(std::vector<Slot>, AnswersHandler handler) override { handler(answers()); }
  EngineState export_state() override { return {}; }
  void import_state(const EngineState&) override {}

 private:
  Answers answers() const {
    Answers answers;
    answers.error = control_->answers_error;
    return answers;
  }

  std::shared_ptr<Control> control_;
  EngineLimits limits_{.objects_max = 1u << 30, .queries_max = 1u << 30, .neighbors_max = 1u << 30};
  ResultHandler handler_;
  Staging staging_;
};

}  // namespace starling::stream
