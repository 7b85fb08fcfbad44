// SPDX-License-Identifier: Apache-2.0
// An engine whose results come at times that the world draws, and whose ticks fail at random.
// Another engine computes the results, and this one waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "starling/knn/engine/engine.hpp"
#include "tests/server_simulation/virtual_world.hpp"

namespace starling::simulation {

class SimulatedEngine final : public Engine {
 public:
  /// The largest number of ticks under way.
  static constexpr std::size_t ticks_max = 2;

  /// While `is_recovering` holds true, results come at once and no tick fails: a server that
  /// recovers waits for them.
  SimulatedEngine(VirtualWorld& world, std::unique_ptr<Engine> engine,
                  std::shared_ptr<const bool> is_recovering);
  ~SimulatedEngine() override;

  std::string_view name() const override { return "simulated"; }
  SpaceOptions space() const override { return engine_->space(); }
  const EngineLimits& limits() const override { return engine_->limits(); }
  EngineBytes bytes_used() const override { return engine_->bytes_used(); }
  void set_result_handler(ResultHandler handler) override { handler_ = std::move(handler); }
  Staging& staging() override { return staging_; }
  bool has_room() const override { return under_way_ < ticks_max; }
  bool begin_tick(Tick tick, std::int64_t tau_us) override;
  void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) override;
  void read_lists(std::vector<Slot> queries, AnswersHandler handler) override;
  EngineState export_state() override { return engine_->export_state(); }
  void import_state(const EngineState& state) override { engine_->import_state(state); }

 private:
  struct Results;

  std::unique_ptr<TickResult> computed(Tick tick, std::int64_t tau_us);
  void deliver(std::function<void()> delivery);
  void deliver_answers(Answers answers, AnswersHandler handler);

  VirtualWorld& world_;
  std::shared_ptr<const bool> is_recovering_;
  ResultHandler handler_;
  Staging staging_;
  Staging kept_;                   ///< rows of failed ticks, and of the tick that begins
  std::int64_t delivered_us_ = 0;  ///< time of the last delivery; later results are not delivered
                                   ///< before it
  std::size_t under_way_ = 0;
  bool has_failed_ = false;  ///< whether the last tick has failed
  std::shared_ptr<bool> is_ended_ = std::make_shared<bool>(false);
  std::shared_ptr<Results> results_;  ///< results of the engine that computes
  std::unique_ptr<Engine> engine_;
};

}  // namespace starling::simulation
