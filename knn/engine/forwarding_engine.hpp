// SPDX-License-Identifier: Apache-2.0
// Passes every call to another engine. Engines that change a few calls derive from it.
#pragma once

#include <memory>
#include <utility>

#include "starling/knn/engine/engine.hpp"

namespace starling {

class ForwardingEngine : public Engine {
 public:
  explicit ForwardingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  std::string_view name() const override { return engine_->name(); }
  SpaceOptions space() const override { return engine_->space(); }
  const EngineLimits& limits() const override { return engine_->limits(); }
  EngineBytes bytes_used() const override { return engine_->bytes_used(); }
  void set_result_handler(ResultHandler handler) override {
    engine_->set_result_handler(std::move(handler));
  }
  Staging& staging() override { return engine_->staging(); }
  void take_ahead() override { engine_->take_ahead(); }
  bool has_room() const override { return engine_->has_room(); }
  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    return engine_->begin_tick(tick, tau_us);
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

 protected:
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace starling
