#include "cpu/cpu_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <hwy/highway.h>

#include "cpu/affinity.hpp"
#include "cpu/list_plan.hpp"
#include "cpu/object_snapshot.hpp"
#include "cpu/search.hpp"
#include "cpu/spatial_index.hpp"
#include "cpu/task_thread.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/tick_lists.hpp"
#include "knn/assert.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t requests_per_batch = 64;
constexpr std::size_t results_kept_max = 2;
constexpr int plan_age_ticks_max = 8;

class Stopwatch {
 public:
  /// Milliseconds since the last call, or since the start.
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

SearchRequest request_for(const Filter& filter, std::uint32_t k, std::int64_t tau_us) {
  SearchRequest request;
  request.k = k;
  request.tags = filter.tags;
  request.distance_sq_max = filter.distance_sq_max;
  request.time_us_min = oldest_time_us(tau_us, filter.age_us_max);
  return request;
}

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(const EngineOptions& options)
      : pool_(options.threads == 0 ? std::max(1u, std::thread::hardware_concurrency())
                                   : options.threads,
              options.pin_threads),
        indexes_{SpatialIndex(options.space), SpatialIndex(options.space)},
        scratches_(pool_.threads()) {
    if (options.pin_threads && pool_.threads() > 1) engine_thread_.post([] { pin_this_thread(0); });
  }

  std::string_view name() const override { return "cpu"; }
  const EngineLimits& limits() const override { return limits_; }

  std::uint64_t bytes_used() const override {
    return objects_.bytes_used() + indexes_[0].bytes_used() + indexes_[1].bytes_used();
  }

  void set_result_handler(ResultHandler handler) override { on_result_ = std::move(handler); }

  Staging& staging() override { return halves_[writing_]; }

  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    if (under_way_.exchange(true)) return false;
    Staging& half = halves_[writing_];
    writing_ = 1 - writing_;
    engine_thread_.post([this, tick, tau_us, &half] { run_tick(tick, tau_us, half); });
    return true;
  }

  void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) override {
    const bool needs_objects = std::ranges::any_of(queries, [](const OneShotQuery& query) {
      return query.anchor != AnchorKind::fixed || !query.filter.tags.is_empty() ||
             query.filter.age_us_max != Filter::any_age;
    });
    // The index of the last finished tick stays whole while the next one is built; the objects'
    // tags, times and slots do not, so questions that read them wait their turn between ticks.
    TaskThread& thread = needs_objects ? engine_thread_ : question_thread_;
    thread.post([this, queries = std::move(queries), handler = std::move(handler)] {
      Answers answers;
      {
        const std::lock_guard lock(finished_mutex_);
        answers = answer(queries);
      }
      handler(std::move(answers));
    });
  }

  void read_lists(std::vector<Slot> queries, AnswersHandler handler) override {
    engine_thread_.post([this, queries = std::move(queries), handler = std::move(handler)] {
      handler(copy_lists(queries));
    });
  }

  EngineState export_state() override {
    std::promise<EngineState> state;
    engine_thread_.post([&] { state.set_value(copy_state()); });
    return state.get_future().get();
  }

  void import_state(const EngineState& state) override {
    std::promise<void> done;
    engine_thread_.post([&] {
      take_state(state);
      done.set_value();
    });
    done.get_future().get();
  }

  void recycle(std::unique_ptr<TickResult> result) override {
    result->neighbors = {};
    result->neighbors_owner.reset();
    const std::lock_guard lock(results_mutex_);
    if (results_.size() < results_kept_max) results_.push_back(std::move(result));
  }

 private:
  void run_tick(Tick tick, std::int64_t tau_us, Staging& half);
  void apply(const Staging& half);
  void compute(std::int64_t tau_us, TickResult& result);
  void search_lists(TickLists& lists, std::int64_t tau_us);
  std::shared_ptr<const ListPlan> next_plan();
  std::shared_ptr<TickLists> free_lists();
  void follow(Slot object, SearchRequest& request) const;
  Answers answer(const std::vector<OneShotQuery>& queries);
  Answers copy_lists(const std::vector<Slot>& queries) const;
  EngineState copy_state() const;
  void take_state(const EngineState& state);
  std::unique_ptr<TickResult> take_result();

  static constexpr EngineLimits limits_{.objects_max = std::uint64_t{1} << 31,
                                        .queries_max = std::uint64_t{1} << 31};

  ResultHandler on_result_;
  std::atomic<bool> under_way_{false};
  std::array<Staging, 2> halves_;
  std::size_t writing_ = 0;

  // Of the engine's thread, but for what finished_mutex_ guards.
  ThreadPool pool_;
  ObjectSnapshot objects_;
  std::vector<QueryRow> queries_;   ///< by slot
  std::vector<Staging> unapplied_;  ///< halves of failed ticks, oldest first
  std::array<SpatialIndex, 2> indexes_;
  SpatialIndex::Scratch index_scratch_;
  std::vector<SearchScratch> scratches_;  ///< by thread
  std::shared_ptr<const ListPlan> plan_ = std::make_shared<ListPlan>();
  bool queries_changed_ = false;
  int plan_age_ticks_ = 0;
  std::shared_ptr<TickLists> lists_ = std::make_shared<TickLists>();  ///< of the last tick
  std::vector<std::shared_ptr<TickLists>> spare_lists_;  ///< free once no result shows them

  std::mutex finished_mutex_;  ///< guards the next four, and the ids of objects_ while they grow
  std::size_t finished_index_ = 0;
  Tick finished_tick_{};
  std::int64_t finished_tau_us_ = 0;
  SearchScratch question_scratch_;

  std::mutex results_mutex_;
  std::vector<std::unique_ptr<TickResult>> results_;

  TaskThread question_thread_;
  TaskThread engine_thread_;
};

void CpuEngine::run_tick(Tick tick, std::int64_t tau_us, Staging& half) {
  std::unique_ptr<TickResult> result = take_result();
  result->tick = tick;
  result->tau_us = tau_us;
  try {
    Stopwatch watch;
    objects_.begin_changes();
    for (const Staging& earlier : unapplied_) apply(earlier);
    apply(half);
    indexes_[1 - finished_index_].build(objects_, index_scratch_, pool_);
    result->times.build_ms = watch.lap_ms();
    compute(tau_us, *result);
    unapplied_.clear();
    half.clear();
    const std::lock_guard lock(finished_mutex_);
    finished_index_ = 1 - finished_index_;
    finished_tick_ = tick;
    finished_tau_us_ = tau_us;
  } catch (const std::exception& error) {
    unapplied_.push_back(std::exchange(half, Staging()));
    queries_changed_ = true;  // the next tick makes its plan anew
    result->error = error.what();
    result->lists.clear();
    result->states.clear();
  }
  result->objects = objects_.alive_count();
  under_way_ = false;
  on_result_(std::move(result));
}

void CpuEngine::apply(const Staging& half) {
  {
    const std::lock_guard lock(finished_mutex_);
    objects_.add(half.births);
  }
  objects_.apply(half.objects, pool_);
  for (const QueryRow& query : half.queries) {
    if (query.slot >= queries_.size()) queries_.resize(query.slot + 1);
    queries_[query.slot] = query;
    queries_changed_ = true;
  }
}

void CpuEngine::compute(std::int64_t tau_us, TickResult& result) {
  Stopwatch watch;
  const std::shared_ptr<TickLists> now = free_lists();
  now->lay_out(next_plan());
  search_lists(*now, tau_us);
  result.times.search_ms = watch.lap_ms();
  collect_changes(*lists_, now, objects_, pool_, result);
  spare_lists_.push_back(lists_);
  lists_ = now;
  result.times.diff_ms = watch.lap_ms();
}

// Lists that no result shows any more, so that their memory serves again.
std::shared_ptr<TickLists> CpuEngine::free_lists() {
  for (auto it = spare_lists_.begin(); it != spare_lists_.end(); ++it) {
    if (it->use_count() > 1) continue;
    std::shared_ptr<TickLists> lists = std::move(*it);
    spare_lists_.erase(it);
    return lists;
  }
  // The rest live as long as the results that show them.
  spare_lists_.clear();
  return std::make_shared<TickLists>();
}

// The last plan serves while the lists are the same; where anchors move, its order of place wears
// off, and it is made anew every few ticks.
std::shared_ptr<const ListPlan> CpuEngine::next_plan() {
  const bool same_lists =
      !queries_changed_ && !(plan_->has_every_object && objects_.membership_changed());
  const bool in_order = !plan_->has_moving_anchors || ++plan_age_ticks_ < plan_age_ticks_max;
  if (!same_lists || !in_order) {
    plan_ = std::make_shared<ListPlan>(queries_, objects_, indexes_[1 - finished_index_]);
    plan_age_ticks_ = 0;
    queries_changed_ = false;
  }
  return plan_;
}

void CpuEngine::search_lists(TickLists& lists, std::int64_t tau_us) {
  const SpatialIndex& index = indexes_[1 - finished_index_];
  const std::vector<PlannedSearch>& searches = lists.plan->searches;
  const std::size_t batches = (searches.size() + requests_per_batch - 1) / requests_per_batch;
  pool_.run(batches, [&](std::size_t batch, unsigned thread) {
    std::array<SearchRequest, requests_per_batch> requests;
    const std::size_t begin = batch * requests_per_batch;
    const std::size_t count = std::min(requests_per_batch, searches.size() - begin);
    for (std::size_t i = begin; i < begin + count; ++i)
      if (searches[i].anchor != no_slot) objects_.prefetch_position(searches[i].anchor);
    for (std::size_t i = 0; i < count; ++i) {
      const PlannedSearch& search = searches[begin + i];
      requests[i] = request_for(search.filter, search.k, tau_us);
      requests[i].position = search.position;
      if (search.anchor != no_slot) follow(search.anchor, requests[i]);
      requests[i].neighbors = lists.neighbors.data() + search.first;
      requests[i].slots = lists.slots.data() + search.first;
    }
    search(index, objects_, std::span(requests).first(count), scratches_[thread]);
    for (std::size_t i = 0; i < count; ++i) lists.counts[begin + i] = requests[i].found;
  });
}

// Asks around an object, which is not its own neighbour; there is nothing around a missing one.
void CpuEngine::follow(Slot object, SearchRequest& request) const {
  request.exclude = object;
  if (objects_.is_known_alive(object))
    request.position = objects_.position(object);
  else
    request.k = 0;
}

Answers CpuEngine::answer(const std::vector<OneShotQuery>& queries) {
  Answers answers;
  answers.tick = finished_tick_;
  answers.tau_us = finished_tau_us_;
  std::vector<Slot> slots;
  for (const OneShotQuery& query : queries) {
    SearchRequest request = request_for(query.filter, query.k, finished_tau_us_);
    request.position = query.position;
    if (query.anchor == AnchorKind::follow) follow(query.object, request);
    const std::size_t first = answers.neighbors.size();
    answers.neighbors.resize(first + request.k);
    slots.resize(request.k);
    request.neighbors = answers.neighbors.data() + first;
    request.slots = slots.data();
    search(indexes_[finished_index_], objects_, std::span(&request, 1), question_scratch_);
    answers.neighbors.resize(first + request.found);
    Answers::List& list = answers.lists.emplace_back();
    list.query = static_cast<Slot>(answers.lists.size() - 1);
    list.count = request.found;
    list.first = first;
  }
  return answers;
}

Answers CpuEngine::copy_lists(const std::vector<Slot>& queries) const {
  const TickLists& lists = *lists_;
  Answers answers;
  answers.tick = finished_tick_;
  answers.tau_us = finished_tau_us_;
  for (const Slot query : queries) {
    for (const ListPlan::List& known :
         std::ranges::equal_range(lists.plan->lists, query, {}, &ListPlan::List::query)) {
      Answers::List& list = answers.lists.emplace_back();
      list.query = query;
      list.has_subject = known.subject != no_slot;
      list.subject = known.subject_id;
      list.count = lists.counts[known.search];
      list.first = answers.neighbors.size();
      const auto neighbors = lists.of(known.search);
      answers.neighbors.insert(answers.neighbors.end(), neighbors.begin(), neighbors.end());
      if (!known.with_state) continue;
      list.first_state = answers.states.size();
      lists.append_states(known.search, objects_, answers.states);
    }
  }
  return answers;
}

EngineState CpuEngine::copy_state() const {
  EngineState state;
  state.tick = finished_tick_;
  state.tau_us = finished_tau_us_;
  for (Slot slot = 0; slot < objects_.slot_count(); ++slot) {
    state.births.push_back({slot, objects_.id(slot)});
    if (objects_.is_alive(slot))
      state.objects.push_back(
          {slot, 1, objects_.tags(slot), objects_.position(slot), objects_.time_us(slot)});
  }
  state.queries = queries_;
  const TickLists& lists = *lists_;
  for (const ListPlan::List& list : lists.plan->lists)
    state.lists.push_back({.query = list.query,
                           .generation = list.generation,
                           .subject = list.subject,
                           .subject_id = list.subject_id,
                           .count = lists.counts[list.search],
                           .first = lists.plan->searches[list.search].first});
  state.neighbors = lists.neighbors;
  state.slots = lists.slots;
  return state;
}

void CpuEngine::take_state(const EngineState& state) {
  check_invariant(finished_tick_ == Tick{}, "state is imported into an engine that has not ticked");
  objects_.add(state.births);
  objects_.apply(state.objects, pool_);
  queries_ = state.queries;
  queries_changed_ = true;

  // The lists as they were, under a plan that the next tick replaces.
  auto plan = std::make_shared<ListPlan>();
  for (const QueryRow& query : queries_)
    if (is_alive(query.generation)) plan->queries.push_back({query.slot, query.generation});
  TickLists& lists = *lists_;
  lists.counts.clear();
  for (const EngineState::List& list : state.lists) {
    const auto search = static_cast<std::uint32_t>(plan->searches.size());
    const QueryRow& query = queries_[list.query];
    plan->lists.push_back(
        {list.query, list.generation, list.subject, list.subject_id, search, query.with_state});
    plan->searches.emplace_back().first = list.first;
    lists.counts.push_back(list.count);
  }
  lists.plan = std::move(plan);
  lists.neighbors = state.neighbors;
  lists.slots = state.slots;

  const std::lock_guard lock(finished_mutex_);
  indexes_[finished_index_].build(objects_, index_scratch_, pool_);
  finished_tick_ = state.tick;
  finished_tau_us_ = state.tau_us;
}

std::unique_ptr<TickResult> CpuEngine::take_result() {
  std::unique_ptr<TickResult> result;
  {
    const std::lock_guard lock(results_mutex_);
    if (!results_.empty()) {
      result = std::move(results_.back());
      results_.pop_back();
    }
  }
  if (!result) return std::make_unique<TickResult>();
  result->times = {};
  result->lists.clear();
  result->states.clear();
  result->error.clear();
  return result;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
  return std::make_unique<CpuEngine>(options);
}

std::string_view simd_target() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best
}

}  // namespace starling::cpu
