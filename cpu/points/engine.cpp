// SPDX-License-Identifier: Apache-2.0
// Runs ticks on the engine's thread: applies rows, builds the index, searches the lists in batches
// on all threads, and compares them with the last tick's lists. One-shot queries are answered while
// a tick is computed, if this is possible, and otherwise between two ticks. Those that take long
// have a thread that gives way, and keep the tick that they are answered from. See engine.hpp.
#include "starling/cpu/points/engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "starling/cpu/points/engine_state.hpp"
#include "starling/cpu/points/filtered_indexes.hpp"
#include "starling/cpu/points/finished_tick.hpp"
#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/index/spatial_index.hpp"
#include "starling/cpu/points/list_plan.hpp"
#include "starling/cpu/points/search/search.hpp"
#include "starling/cpu/points/tick_lists.hpp"
#include "starling/knn/base/affinity.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/prefetch.hpp"
#include "starling/knn/base/return_pool.hpp"
#include "starling/knn/base/task_thread.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/base/usage.hpp"
#include "starling/knn/engine/engine_answers.hpp"
#include "starling/knn/engine/kept_rows.hpp"

namespace starling::cpu {
namespace {

constexpr std::size_t requests_per_batch = 32;
constexpr int plan_age_ticks_max = 8;
constexpr int overtaken_max = 2;
constexpr std::size_t at_once_max = 4;
constexpr std::uint32_t at_once_k_max = 64;
// Copying the objects takes the engine's thread about as long as this many slots a microsecond.
constexpr std::int64_t copied_slots_per_us = 100;

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(const PointEngineOptions& options)
      : space_(options.space),
        pool_(options.threads == 0 ? std::max(1u, std::thread::hardware_concurrency())
                                   : options.threads,
              options.pin_threads),
        finished_(options.space, objects_),
        filtered_(options.space),
        scratches_(pool_.threads()) {
    if (options.pin_threads && pool_.threads() > 1) engine_thread_.post([] { pin_this_thread(0); });
    long_question_thread_.post([] { set_priority_of_this_thread(ThreadPriority::below_normal); });
  }
  ~CpuEngine() override {
    const std::lock_guard lock(ending_mutex_);
    is_ending_ = true;  // from here on engine_thread_ posts nothing to the other threads
  }

  std::string_view name() const override { return "cpu"; }
  bool answers_short_beside_long() const override { return true; }
  SpaceOptions space() const override { return {.space = space_}; }
  const EngineLimits& limits() const override { return limits_; }

  EngineBytes bytes_used() const override {
    return {.state = objects_.bytes_used(),
            .index = finished_.index().bytes_used() + filtered_.bytes_used(),
            .spare_index = finished_.spare_bytes_used()};
  }

  void set_result_handler(ResultHandler handler) override { on_result_ = std::move(handler); }

  Staging& staging() override { return halves_[writing_]; }

  bool has_room() const override { return !under_way_; }

  bool begin_tick(Tick tick, std::int64_t tau_us) override {
    if (under_way_.exchange(true)) return false;
    Staging& half = halves_[writing_];
    writing_ = 1 - writing_;
    pool_.wake();
    engine_thread_.post([this, tick, tau_us, &half] { run_tick(tick, tau_us, half); });
    return true;
  }

  void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) override {
    check_questions(queries, *this);
    const bool needs_objects = std::ranges::any_of(queries, reads_objects);
    const auto asked = std::make_shared<const Asked>(std::move(queries), std::move(handler));
    if (needs_objects)
      answer_between_ticks(asked);
    else if (asked->us < long_search_us)
      question_thread_.post([this, asked] { answer_beside_ticks(asked, question_scratch_); });
    else
      long_question_thread_.post(
          [this, asked] { answer_beside_ticks(asked, long_question_scratch_); });
  }

  std::optional<Answers> answer_at_once(std::span<const OneShotQuery> queries) override {
    check_questions(queries, *this);
    const auto takes_long = [](const OneShotQuery& query) {
      return query.k > at_once_k_max || reads_objects(query);
    };
    if (queries.size() > at_once_max || std::ranges::any_of(queries, takes_long))
      return std::nullopt;
    const std::unique_lock lock(at_once_mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    try {
      return finished_.answer_at_once(queries, at_once_scratch_);
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
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
  struct Asked {
    Asked(std::vector<OneShotQuery> the_queries, AnswersHandler the_handler)
        : queries(std::move(the_queries)),
          handler(std::move(the_handler)),
          us(estimated_us(queries)) {}
    std::vector<OneShotQuery> queries;
    AnswersHandler handler;
    std::int64_t us;
  };

  void run_tick(Tick tick, std::int64_t tau_us, Staging& half);
  void take_rows(Staging& half);
  void take_kept_rows();
  void apply(const Staging& half);
  void compute(std::int64_t tau_us, TickResult& result);
  void free_idle_lists();
  void search_lists(TickLists& lists, std::int64_t tau_us);
  std::shared_ptr<const ListPlan> next_plan(std::int64_t tau_us);
  void answer_beside_ticks(const std::shared_ptr<const Asked>& asked, QuestionScratch& scratch);
  void answer_between_ticks(const std::shared_ptr<const Asked>& asked);
  bool answer_from_kept_tick(const std::shared_ptr<const Asked>& asked);
  bool takes_longer_than_keeping(const Asked& asked) const {
    return asked.us >= long_search_us + keep_us_;
  }
  Answers copy_lists(const std::vector<Slot>& queries) const;
  EngineState copy_state();
  void take_state(const EngineState& state);

  // A ListPlan numbers its searches with 32 bits.
  static constexpr EngineLimits limits_{.objects_max = std::uint64_t{1} << 31,
                                        .queries_max = std::uint64_t{1} << 31,
                                        .neighbors_max = std::uint64_t{1} << 31};

  const Space space_;
  ResultHandler on_result_;
  std::atomic<bool> under_way_{false};
  std::array<Staging, 2> halves_;
  std::size_t writing_ = 0;

  // Used by the engine's thread:
  ThreadPool pool_;
  ObjectSnapshot objects_;
  std::vector<QueryRow> queries_;  ///< [slot]
  Staging kept_rows_;              ///< rows that failed ticks could not apply
  FinishedTick finished_;          ///< one-shot queries on other threads use it too
  FilteredIndexes filtered_;       ///< the indexes of the tick under way
  SpatialIndex::Scratch index_scratch_;
  std::vector<SearchScratch> scratches_;  ///< [thread]
  std::shared_ptr<const ListPlan> plan_ = std::make_shared<ListPlan>();
  bool queries_changed_ = false;
  int plan_age_ticks_ = 0;
  ReturnPool<TickLists> lists_pool_;
  std::shared_ptr<TickLists> lists_ = lists_pool_.take();  ///< the lists of the last finished tick

  QuestionScratch between_ticks_scratch_;

  QuestionScratch question_scratch_;       ///< used by question_thread_
  QuestionScratch long_question_scratch_;  ///< used by long_question_thread_
  std::mutex at_once_mutex_;               ///< guards at_once_scratch_
  QuestionScratch at_once_scratch_;

  std::atomic<std::int64_t> keep_us_{0};  ///< about how long it takes to keep a tick
  std::mutex ending_mutex_;               ///< guards is_ending_
  bool is_ending_ = false;
  TaskThread engine_thread_;
  // Destroyed first, because they post to engine_thread_:
  TaskThread question_thread_;
  TaskThread long_question_thread_;
};

void CpuEngine::run_tick(Tick tick, std::int64_t tau_us, Staging& half) {
  std::unique_ptr<TickResult> result = std::make_unique<TickResult>();
  result->tick = tick;
  result->tau_us = tau_us;
  try {
    Stopwatch watch;
    objects_.begin_changes();
    take_rows(half);
    finished_.next_index().build(objects_.all_points(), objects_, index_scratch_, pool_);
    result->times.build_ms = watch.lap_ms();
    compute(tau_us, *result);
    finished_.finish(tick, tau_us);
  } catch (const std::exception& error) {
    finished_.fail();
    queries_changed_ = true;  // the next tick makes a new plan
    result->error = sentence_of(error, "remove queries or objects, or ask for fewer neighbours");
  }
  result->objects = objects_.alive_count();
  result->engine_bytes = bytes_used().total();
  under_way_ = false;
  on_result_(std::move(result));
}

// If the tick fails later, applied rows stay applied, and the next tick computes from them. Only
// rows that were not applied are kept in kept_rows_.
void CpuEngine::take_rows(Staging& half) {
  try {
    take_kept_rows();
    apply(half);
  } catch (const std::exception&) {
    keep_rows(half, kept_rows_);
    throw;
  }
  half.clear();
}

void CpuEngine::take_kept_rows() {
  if (kept_rows_.is_empty()) return;
  apply(kept_rows_);
  kept_rows_ = Staging();
}

void CpuEngine::apply(const Staging& half) {
  {
    const auto lock = finished_.lock();
    objects_.add(half.births);
  }
  keep_us_ = static_cast<std::int64_t>(objects_.slot_count()) / copied_slots_per_us;
  objects_.apply(half.objects, pool_);
  for (const QueryRow& query : half.queries) {
    if (query.slot >= queries_.size()) queries_.resize(query.slot + 1);
    queries_[query.slot] = query;
    queries_changed_ = true;
  }
}

void CpuEngine::compute(std::int64_t tau_us, TickResult& result) {
  Stopwatch watch;
  const std::shared_ptr<TickLists> now = lists_pool_.take();
  if (now->lay_out(next_plan(tau_us))) free_idle_lists();
  filtered_.build(objects_, finished_.next_index(), index_scratch_, pool_);
  search_lists(*now, tau_us);
  result.times.search_ms = watch.lap_ms();
  collect_changes(*lists_, now, objects_, pool_, result);
  lists_ = now;
  result.times.diff_ms = watch.lap_ms();
  result.ends.computed_us = steady_now_us();
}

// The lists of the last tick are idle in the next one, and are then laid out again.
void CpuEngine::free_idle_lists() {
  const std::array idle{lists_pool_.take(), lists_pool_.take()};
  for (const std::shared_ptr<TickLists>& lists : idle) lists->free_memory();
}

// Returns the plan of the tick under way, and chooses the filters that get an index in this tick.
// The last plan is used again while no list is added or removed and no query changes. If anchors
// move, or if other filters get an index, the order of the searches in the plan gets worse, so a
// new plan is made every few ticks.
std::shared_ptr<const ListPlan> CpuEngine::next_plan(std::int64_t tau_us) {
  const bool same_lists =
      !queries_changed_ && !(plan_->has_every_object && objects_.membership_changed());
  if (same_lists) {
    filtered_.choose(plan_->filters, tau_us, objects_);
    ++plan_age_ticks_;
    const bool in_order = !plan_->has_moving_anchors && plan_->is_grouped == filtered_.chosen();
    if (in_order || plan_age_ticks_ < plan_age_ticks_max) return plan_;
  }
  const auto plan = std::make_shared<ListPlan>(queries_, objects_);
  filtered_.choose(plan->filters, tau_us, objects_);
  plan->order(objects_, finished_.next_index(), filtered_.chosen());
  plan_ = plan;
  plan_age_ticks_ = 0;
  queries_changed_ = false;
  return plan_;
}

void CpuEngine::search_lists(TickLists& lists, std::int64_t tau_us) {
  const SpatialIndex& index = finished_.next_index();
  const std::vector<PlannedSearch>& searches = lists.plan->searches;
  // If the last tick had the same plan, its lists give the expected distance of each search's k-th
  // neighbour.
  const TickLists* last = lists_->plan == lists.plan ? lists_.get() : nullptr;
  const auto kth_neighbor = [&](std::size_t i) {
    return &last->neighbors[lists.plan->rooms[i].first + searches[i].k - 1];
  };
  const std::size_t batches = (searches.size() + requests_per_batch - 1) / requests_per_batch;
  pool_.run(batches, [&](std::size_t batch, unsigned thread) {
    std::array<SearchRequest, requests_per_batch> requests;
    const std::size_t begin = batch * requests_per_batch;
    const std::size_t count = std::min(requests_per_batch, searches.size() - begin);
    for (std::size_t i = begin; i < begin + count; ++i) {
      if (searches[i].anchor != no_slot) objects_.prefetch_position(searches[i].anchor);
      if (last != nullptr) prefetch(kth_neighbor(i));
    }
    for (std::size_t i = begin; i < begin + count; ++i) {
      const PlannedSearch& search = searches[i];
      const PlannedFilter& filter = lists.plan->filters[search.filter];
      SearchRequest& request = requests[i - begin];
      request.position = search.position;
      request.k = search.k;
      request.distance_sq_max = to_number(search.key_max);
      if (filtered_.index_of(search.filter) == nullptr) {
        request.tags = filter.tags;
        request.time_us_min = oldest_time_us(tau_us, filter.age_us_max);
        request.passing_share = filtered_.passing_share(search.filter);
        if (!filter.accepts_all()) request.test = &filtered_.test_of(search.filter);
      }
      if (search.anchor != no_slot) ask_around(search.anchor, objects_, request);
      if (last != nullptr && last->counts[i] == search.k)
        request.expected_sq = to_number(kth_neighbor(i)->key);
      const std::uint64_t first = lists.plan->rooms[i].first;
      request.neighbors = lists.neighbors.data() + first;
      request.slots = lists.slots.data() + first;
    }
    // Consecutive searches in the same index are passed on together.
    const auto index_of = [&](std::size_t i) {
      const SpatialIndex* const filtered = filtered_.index_of(searches[begin + i].filter);
      return filtered != nullptr ? filtered : &index;
    };
    for (std::size_t first = 0, next = 0; first < count; first = next) {
      const SpatialIndex* const chosen = index_of(first);
      while (next < count && index_of(next) == chosen) ++next;
      search(*chosen, objects_, std::span(requests).subspan(first, next - first),
             scratches_[thread]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      lists.counts[begin + i] = requests[i].found;
      if (requests[i].gave_up) filtered_.note_gave_up(searches[begin + i].filter);
    }
  });
}

// If a tick finishes before all queries are answered, all queries are answered again: short ones
// here a few times, and then between ticks.
void CpuEngine::answer_beside_ticks(const std::shared_ptr<const Asked>& asked,
                                    QuestionScratch& scratch) {
  const int attempts = takes_longer_than_keeping(*asked) ? 1 : overtaken_max + 1;
  for (int attempt = 0; attempt < attempts; ++attempt)
    if (auto answers = answers_or_error([&] { return finished_.answer(asked->queries, scratch); }))
      return asked->handler(*std::move(answers));
  answer_between_ticks(asked);
}

void CpuEngine::answer_between_ticks(const std::shared_ptr<const Asked>& asked) {
  engine_thread_.post([this, asked] {
    if (answer_from_kept_tick(asked)) return;
    asked->handler(answers_or_error(
        [&] { return finished_.answer(asked->queries, between_ticks_scratch_).value(); }));
  });
}

// Lets queries that take longer than it takes to keep a tick be answered from a kept tick, so that
// the next tick does not wait for them. Returns false if they must be answered now.
bool CpuEngine::answer_from_kept_tick(const std::shared_ptr<const Asked>& asked) {
  if (!takes_longer_than_keeping(*asked)) return false;
  try {
    std::shared_ptr<const KeptTick> kept = finished_.keep();
    const std::lock_guard lock(ending_mutex_);
    if (!kept || is_ending_) return false;
    long_question_thread_.post([this, asked, kept = std::move(kept)]() mutable {
      Answers answers =
          answers_or_error([&] { return kept->answer(asked->queries, long_question_scratch_); });
      kept = nullptr;  // the handler may lead to the next queries that take long
      asked->handler(std::move(answers));
    });
    return true;
  } catch (const std::exception&) {  // without memory, the queries are answered between ticks
    return false;
  }
}

Answers CpuEngine::copy_lists(const std::vector<Slot>& queries) const {
  const TickLists& lists = *lists_;
  Answers answers;
  answers.tick = finished_.tick();
  answers.tau_us = finished_.tau_us();
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
      if (finished_.objects_are_ahead()) throw std::runtime_error(ask_after_next_tick);
      list.first_state = answers.states.size();
      lists.append_states(known.search, objects_, answers.states);
    }
  }
  return answers;
}

EngineState CpuEngine::copy_state() {
  take_kept_rows();
  EngineState state = export_parts(objects_, queries_, *lists_);
  state.tick = finished_.tick();
  state.tau_us = finished_.tau_us();
  state.objects_ahead = finished_.objects_are_ahead();
  return state;
}

void CpuEngine::take_state(const EngineState& state) {
  check_usage(finished_.tick() == Tick{},
              "import_state: the engine has ticked; import into a new one");
  objects_.add(state.births);
  objects_.apply(state.objects, pool_);
  queries_ = state.queries;
  queries_changed_ = true;
  import_lists(state, *lists_);

  finished_.next_index().build(objects_.all_points(), objects_, index_scratch_, pool_);
  finished_.finish(state.tick, state.tau_us);
  if (state.objects_ahead) finished_.fail();
}

}  // namespace

std::unique_ptr<Engine> make_point_engine(const PointEngineOptions& options) {
  return std::make_unique<CpuEngine>(options);
}

}  // namespace starling::cpu
