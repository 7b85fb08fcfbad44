// SPDX-License-Identifier: Apache-2.0
// Runs ticks, answers one-shot queries, and exports and imports states, one after another on the
// engine's thread. cpu/ or gpu/ passes in the store. VectorSearches does the searching. See
// engine.hpp.
#include "starling/knn/vectors/ticks/engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/base/task_thread.hpp"
#include "starling/knn/base/usage.hpp"
#include "starling/knn/engine/engine_answers.hpp"
#include "starling/knn/engine/kept_rows.hpp"
#include "starling/knn/engine/list_directory.hpp"
#include "starling/knn/engine/staged_parts.hpp"
#include "starling/knn/vectors/ticks/lists.hpp"
#include "starling/knn/vectors/ticks/objects.hpp"
#include "starling/knn/vectors/ticks/queries.hpp"
#include "starling/knn/vectors/ticks/searches.hpp"

namespace starling {
namespace {

class VectorEngine final : public Engine {
 public:
  VectorEngine(const VectorEngineOptions& options, std::unique_ptr<VectorStore> store)
      : options_(options),
        store_(std::move(store)),
        halves_{Staging(store_->staging_memory()), Staging(store_->staging_memory())},
        parts_(options.part_bytes_min / (options.dimension * sizeof(float)) + 1) {}

  std::string_view name() const override { return store_->name(); }
  SpaceOptions space() const override {
    return {.space = Space::vector, .dimension = options_.dimension, .metric = options_.metric};
  }
  const EngineLimits& limits() const override { return limits_; }

  EngineBytes bytes_used() const override {
    return {.state = objects_.bytes_used() + store_->bytes_used()};
  }

  void set_result_handler(ResultHandler handler) override { on_result_ = std::move(handler); }

  Staging& staging() override { return halves_[writing_]; }

  void take_ahead() override {
    Staging& half = halves_[writing_];
    if (parts_.is_due(half) &&
        store_->copy_ahead(writing_, {half.object_components, options_.dimension}, half.taken_rows))
      half.end_part();
  }

  bool has_room() const override { return !under_way_; }

  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    if (under_way_.exchange(true)) return false;
    const unsigned half = std::exchange(writing_, 1 - writing_);
    parts_.begin_tick(halves_[half]);
    engine_thread_.post([this, tick, tau_us, half] { run_tick(tick, tau_us, half); });
    return true;
  }

  void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) override {
    check_questions(queries, *this);
    engine_thread_.post([this, queries = std::move(queries), handler = std::move(handler)] {
      handler(answers_or_error([&] { return answer(queries); }));
    });
  }

  void read_lists(std::vector<Slot> queries, AnswersHandler handler) override {
    engine_thread_.post([this, queries = std::move(queries), handler = std::move(handler)] {
      handler(answers_or_error([&] { return copy_lists(queries); }));
    });
  }

  EngineState export_state() override {
    return engine_thread_.run<EngineState>([this] { return copy_state(); });
  }

  void import_state(const EngineState& state) override {
    engine_thread_.run<void>([&] { take_state(state); });
  }

 private:
  void run_tick(Tick tick, std::int64_t tau_us, unsigned half);
  void take_rows(unsigned half);
  void take_kept_rows();
  void apply(const Staging& staged, unsigned half);
  void leave_last_of_each_slot();
  void wait_after_failure() noexcept;
  void compute(std::int64_t tau_us, TickResult& result);
  bool has_other_lists() const;
  Answers answer(const std::vector<OneShotQuery>& questions);
  Answers copy_lists(const std::vector<Slot>& queries) const;
  EngineState copy_state();
  void take_state(const EngineState& state);
  void import_lists(const EngineState& state);

  static constexpr EngineLimits limits_{.objects_max = vector_rows_max,
                                        .queries_max = std::uint64_t{1} << 31,
                                        .neighbors_max = std::uint64_t{1} << 31};

  const VectorEngineOptions options_;
  std::unique_ptr<VectorStore> store_;  ///< used by the engine's thread
  ResultHandler on_result_;
  std::atomic<bool> under_way_{false};
  std::array<Staging, 2> halves_;
  unsigned writing_ = 0;  ///< the half that the caller writes
  StagedParts parts_;

  // Used by the engine's thread:
  VectorObjects objects_;
  VectorQueries queries_{options_.dimension};
  Staging kept_rows_{store_->staging_memory()};  ///< rows that failed ticks could not apply
  VectorSearches searches_{*store_, objects_, queries_};
  std::vector<Slot> applied_slots_;
  std::vector<bool> has_later_row_;  ///< [slot]; false except in leave_last_of_each_slot
  std::vector<std::uint64_t> applied_alive_;
  VectorRows applied_;          ///< the rows of the tick under way
  bool objects_ahead_ = false;  ///< a tick failed after the last finished tick
  Tick tick_{};                 ///< the last finished tick
  std::int64_t tau_us_ = 0;
  ReturnPool<VectorLists> lists_pool_;
  /// The lists of the last finished tick.
  std::shared_ptr<VectorLists> lists_ = lists_pool_.take();

  TaskThread engine_thread_;
};

void VectorEngine::run_tick(Tick tick, std::int64_t tau_us, unsigned half) {
  std::unique_ptr<TickResult> result = std::make_unique<TickResult>();
  result->tick = tick;
  result->tau_us = tau_us;
  try {
    static_cast<void>(store_->take_device_times());  // drops the times of one-shot queries
    Stopwatch watch;
    objects_.begin_changes();
    if (objects_ahead_) searches_.forget_all();
    take_rows(half);
    result->times.build_ms = watch.lap_ms();
    compute(tau_us, *result);
    queries_.finish_changes();
    objects_ahead_ = false;
    tick_ = tick;
    tau_us_ = tau_us;
  } catch (const std::exception& error) {
    wait_after_failure();
    searches_.forget_all();
    objects_ahead_ = true;
    result->lists = {};
    result->is_engine_lost = store_->is_lost();
    result->error = sentence_of(error, "remove queries or objects, or ask for fewer neighbours");
  }
  halves_[half].clear();
  result->objects = objects_.alive_count();
  result->engine_bytes = bytes_used().total();
  under_way_ = false;
  on_result_(std::move(result));
}

// If the tick fails later, applied rows stay applied, and the next tick computes from them. Only
// rows that were not applied are kept in kept_rows_.
void VectorEngine::take_rows(unsigned half) {
  try {
    take_kept_rows();
    apply(halves_[half], half);
  } catch (const std::exception&) {
    wait_after_failure();
    keep_rows(halves_[half], kept_rows_);
    throw;
  }
}

void VectorEngine::take_kept_rows() {
  if (kept_rows_.is_empty()) return;
  apply(kept_rows_, VectorRows::no_half);
  store_->wait();
  kept_rows_ = Staging(store_->staging_memory());
}

// The steps that may throw come first. If a step throws, all rows are applied again later,
// including those that were applied already. A device writes its rows while the host applies them
// to the objects and searches the queries.
void VectorEngine::apply(const Staging& staged, unsigned half) {
  objects_.add(staged.births);
  queries_.make_room(staged.queries);
  applied_slots_.clear();
  applied_alive_.assign((staged.objects.size() + 63) / 64, 0);
  for (std::size_t i = 0; i < staged.objects.size(); ++i) {
    const ObjectRow& row = staged.objects[i];
    applied_slots_.push_back(row.slot);
    if (is_alive(row.generation)) applied_alive_[i / 64] |= std::uint64_t{1} << i % 64;
  }
  if (!staged.part_ends.empty()) leave_last_of_each_slot();
  applied_ = {.slots = applied_slots_,
              .alive = applied_alive_,
              .components = {staged.object_components, options_.dimension},
              .half = half,
              .copied = staged.taken_rows};
  store_->apply(applied_);
  objects_.apply(staged.objects, staged.object_targets);
  queries_.apply(staged.queries, staged.query_components);
}

/// Keeps only the last row of each slot: earlier rows get no_slot and are dead.
void VectorEngine::leave_last_of_each_slot() {
  has_later_row_.resize(objects_.slot_count());
  for (std::size_t i = applied_slots_.size(); i-- > 0;) {
    if (!has_later_row_[applied_slots_[i]]) {
      has_later_row_[applied_slots_[i]] = true;
      continue;
    }
    applied_slots_[i] = no_slot;
    applied_alive_[i / 64] &= ~(std::uint64_t{1} << i % 64);
  }
  for (const Slot slot : applied_slots_)
    if (slot != no_slot) has_later_row_[slot] = false;
}

/// Waits until the store reads no staged row any more.
void VectorEngine::wait_after_failure() noexcept {
  try {
    store_->wait();
  } catch (const std::exception&) {  // the tick has failed already; is_lost() says the rest
  }
}

bool VectorEngine::has_other_lists() const {
  return queries_.has_changed() ||
         (lists_->plan->has_every_object && (objects_.membership_changed() || objects_ahead_));
}

void VectorEngine::compute(std::int64_t tau_us, TickResult& result) {
  Stopwatch watch;
  std::shared_ptr<const VectorPlan> plan = lists_->plan;
  ListMatching matching;
  const bool is_other_plan = has_other_lists();
  if (is_other_plan) {
    plan = std::make_shared<VectorPlan>(queries_, objects_);
    matching = match_lists(*lists_->plan, *plan, plan->searches.size());
  }
  const ListMatching* const matched = is_other_plan ? &matching : nullptr;
  searches_.update(*plan, matched, applied_, tau_us);
  const std::shared_ptr<VectorLists> now = lists_pool_.take();
  now->lay_out(std::move(plan));
  for (std::uint32_t search = 0; search < now->counts.size(); ++search)
    now->write(search, searches_.list(search));
  store_->wait();
  result.times.search_ms = watch.lap_ms();
  // If there is a device, its own clock gives the times.
  const VectorDeviceTimes device = store_->take_device_times();
  result.times.copy_in_ms = device.apply_ms;
  if (device.search_ms > 0) result.times.search_ms = device.search_ms;
  now->predict(options_.metric, queries_, objects_);
  collect_changes(*lists_, now, matched, objects_, result);
  lists_ = now;
  result.times.diff_ms = watch.lap_ms();
  result.ends.computed_us = steady_now_us();
}

Answers VectorEngine::answer(const std::vector<OneShotQuery>& questions) {
  if (objects_ahead_) throw std::runtime_error(ask_after_next_tick);
  Answers answers;
  answers.tick = tick_;
  answers.tau_us = tau_us_;
  answers.lists.resize(questions.size());
  const std::vector<KeptNearest> kept = searches_.answer(questions, tau_us_);
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Answers::List& list = answers.lists[i];
    list.query = static_cast<Slot>(i);
    list.first = answers.neighbors.size();
    list.is_unknown =
        questions[i].anchor == AnchorKind::follow && !objects_.is_known_alive(questions[i].object);
    slots.clear();
    for (const KeptNearest::Entry& entry : kept[i].list()) {
      answers.neighbors.push_back(entry.neighbor);
      slots.push_back(entry.slot);
    }
    list.count = static_cast<std::uint32_t>(slots.size());
    list.prediction = predict(
        questions[i].vote, questions[i].regress,
        {options_.metric, std::span(answers.neighbors).subspan(list.first), slots, objects_});
  }
  return answers;
}

Answers VectorEngine::copy_lists(const std::vector<Slot>& queries) const {
  const VectorLists& lists = *lists_;
  Answers answers;
  answers.tick = tick_;
  answers.tau_us = tau_us_;
  for (const Slot query : queries) {
    for (const ListDirectory::List& known :
         std::ranges::equal_range(lists.plan->lists, query, {}, &ListDirectory::List::query)) {
      Answers::List& list = answers.lists.emplace_back();
      list.query = query;
      list.has_subject = known.subject != no_slot;
      list.subject = known.subject_id;
      list.count = lists.counts[known.search];
      list.first = answers.neighbors.size();
      list.prediction = lists.prediction_of(known.search);
      const auto neighbors = lists.of(known.search);
      answers.neighbors.insert(answers.neighbors.end(), neighbors.begin(), neighbors.end());
      if (!known.with_state) continue;
      if (objects_ahead_) throw std::runtime_error(ask_after_next_tick);
      list.first_state = answers.states.size();
      for (const Slot slot : lists.slots_of(known.search))
        answers.states.push_back({.position = {}, .tags = objects_.tags(slot)});
    }
  }
  return answers;
}

EngineState VectorEngine::copy_state() {
  take_kept_rows();
  EngineState state;
  state.tick = tick_;
  state.tau_us = tau_us_;
  state.objects_ahead = objects_ahead_;
  std::vector<Slot> living;
  for (Slot slot = 0; slot < objects_.slot_count(); ++slot) {
    state.births.push_back({slot, objects_.id(slot)});
    if (!objects_.is_alive(slot)) continue;
    living.push_back(slot);
    state.objects.push_back({slot, 1, objects_.tags(slot), {}, objects_.time_us(slot)});
    state.object_targets.push_back({objects_.label(slot), objects_.value(slot)});
  }
  state.object_components.resize(living.size() * options_.dimension);
  store_->read(living, state.object_components);
  state.queries.assign(queries_.rows().begin(), queries_.rows().end());
  state.query_components.assign(queries_.components().begin(), queries_.components().end());
  export_directory(
      *lists_->plan, [&](std::uint32_t search) { return lists_->counts[search]; },
      [&](std::uint32_t search) { return lists_->plan->searches[search].first; }, state);
  for (std::size_t i = 0; i < state.lists.size(); ++i)
    state.lists[i].prediction = lists_->prediction_of(lists_->plan->lists[i].search);
  state.neighbors = lists_->neighbors;
  state.slots = lists_->slots;
  return state;
}

void VectorEngine::take_state(const EngineState& state) {
  check_usage(tick_ == Tick{}, "import_state: the engine has ticked; import into a new one");
  Staging rows;
  rows.births.assign(state.births.begin(), state.births.end());
  rows.objects.assign(state.objects.begin(), state.objects.end());
  rows.object_components.assign(state.object_components.begin(), state.object_components.end());
  rows.object_targets.assign(state.object_targets.begin(), state.object_targets.end());
  for (const QueryRow& row : state.queries) {
    if (row.slot == no_slot) continue;
    const std::size_t first = std::size_t{row.slot} * options_.dimension;
    const auto from = state.query_components.begin() + static_cast<std::ptrdiff_t>(first);
    rows.queries.push_back(row);
    rows.query_components.insert(rows.query_components.end(), from, from + options_.dimension);
  }
  apply(rows, VectorRows::no_half);
  store_->wait();
  import_lists(state);
  tick_ = state.tick;
  tau_us_ = state.tau_us;
  objects_ahead_ = state.objects_ahead;
}

void VectorEngine::import_lists(const EngineState& state) {
  auto plan = std::make_shared<VectorPlan>();
  static_cast<ListDirectory&>(*plan) = directory_of(state);
  VectorLists& lists = *lists_;
  lists.counts.clear();
  for (const EngineState::List& list : state.lists) {
    plan->searches.push_back({list.query, no_slot, list.first, ReportOn::order});
    lists.counts.push_back(list.count);
    lists.predictions.push_back(list.prediction);
  }
  lists.plan = std::move(plan);
  lists.neighbors = state.neighbors;
  lists.slots = state.slots;
}

}  // namespace

std::unique_ptr<Engine> make_vector_engine(const VectorEngineOptions& options,
                                           std::unique_ptr<VectorStore> store) {
  if (options.dimension < 1 || options.dimension > dimension_max)
    throw std::invalid_argument("the dimension of a vector space is 1 to " +
                                std::to_string(dimension_max));
  return std::make_unique<VectorEngine>(options, std::move(store));
}

}  // namespace starling
