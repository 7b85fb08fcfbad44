// SPDX-License-Identifier: Apache-2.0
// Delays the results of another engine, and fails some of its ticks: see simulated_engine.hpp.
#include "tests/server_simulation/simulated_engine.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/engine/engine_answers.hpp"
#include "starling/knn/engine/kept_rows.hpp"
#include "tests/support/failing_new.hpp"

namespace starling::simulation {

struct SimulatedEngine::Results {
  std::promise<std::unique_ptr<TickResult>> next;
};

SimulatedEngine::SimulatedEngine(VirtualWorld& world, std::unique_ptr<Engine> engine,
                                 std::shared_ptr<const bool> is_recovering)
    : world_(world), is_recovering_(std::move(is_recovering)), engine_(std::move(engine)) {}

SimulatedEngine::~SimulatedEngine() {
  *is_ended_ = true;
}

std::unique_ptr<TickResult> SimulatedEngine::computed(Tick tick, std::int64_t tau_us) {
  // The handler is set before the first tick only, because an engine takes its handler once.
  if (!results_) {
    results_ = std::make_shared<Results>();
    engine_->set_result_handler([results = results_](std::unique_ptr<TickResult> result) {
      results->next.set_value(std::move(result));
    });
  }
  results_->next = {};
  auto result = results_->next.get_future();
  // The engine has room a little after the handler of the last tick has returned.
  while (!engine_->has_room()) std::this_thread::yield();
  std::swap(engine_->staging(), kept_);
  check_invariant(engine_->begin_tick(tick, tau_us), "the engine has room");
  return result.get();
}

bool SimulatedEngine::begin_tick(Tick tick, std::int64_t tau_us) {
  if (!has_room()) return false;
  const test::SparedAllocations spared;
  keep_rows(staging_, kept_);
  ++under_way_;
  auto result = std::make_unique<TickResult>();
  if (!*is_recovering_ && world_.happens(Fault::failing_engine, 0.1)) {
    result->tick = tick;
    result->tau_us = tau_us;
    result->error = "the simulation lets this tick fail";
    has_failed_ = true;
  } else {
    result = computed(tick, tau_us);
    has_failed_ = false;
  }
  const auto held = std::make_shared<std::unique_ptr<TickResult>>(std::move(result));
  deliver([this, held] {
    --under_way_;
    handler_(std::move(*held));
  });
  return true;
}

void SimulatedEngine::deliver(std::function<void()> delivery) {
  if (*is_recovering_) return delivery();
  const std::int64_t takes_us = world_.happens(Fault::stalls, 0.05)
                                    ? 80'000
                                    : static_cast<std::int64_t>(world_.random().below(3000));
  delivered_us_ = std::max(delivered_us_, world_.now_us() + takes_us);
  world_.at(delivered_us_, [is_ended = is_ended_, delivery = std::move(delivery)] {
    if (!*is_ended) delivery();
  });
}

void SimulatedEngine::deliver_answers(Answers answers, AnswersHandler handler) {
  deliver([handler = std::move(handler), held = std::make_shared<Answers>(std::move(answers))] {
    handler(std::move(*held));
  });
}

void SimulatedEngine::search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) {
  const test::SparedAllocations spared;
  if (has_failed_) {  // other engines refuse, too: the tables may have given slots to other objects
    Answers refused;
    refused.error = ask_after_next_tick;
    return deliver_answers(std::move(refused), std::move(handler));
  }
  std::promise<Answers> found;
  engine_->search_finished(std::move(queries),
                           [&](Answers answers) { found.set_value(std::move(answers)); });
  deliver_answers(found.get_future().get(), std::move(handler));
}

void SimulatedEngine::read_lists(std::vector<Slot> queries, AnswersHandler handler) {
  const test::SparedAllocations spared;
  std::promise<Answers> found;
  engine_->read_lists(std::move(queries),
                      [&](Answers answers) { found.set_value(std::move(answers)); });
  deliver_answers(found.get_future().get(), std::move(handler));
}

}  // namespace starling::simulation
