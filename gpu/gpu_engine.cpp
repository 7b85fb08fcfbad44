#include "gpu/gpu_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "gpu/check.hpp"
#include "gpu/device_lists.hpp"
#include "gpu/device_objects.hpp"
#include "gpu/device_plan.hpp"
#include "gpu/engine_state.hpp"
#include "gpu/list_copies.hpp"
#include "gpu/memory.hpp"
#include "gpu/questions.hpp"
#include "gpu/stream.hpp"
#include "gpu/tree_launch.hpp"
#include "knn/assert.hpp"
#include "knn/engine_answers.hpp"
#include "knn/kept_rows.hpp"
#include "knn/list_directory.hpp"
#include "knn/result_pool.hpp"
#include "knn/return_pool.hpp"
#include "knn/task_thread.hpp"

namespace starling::gpu {
namespace {

constexpr int order_age_ticks_max = 8;

bool is_every_object(const QueryRow& query) {
  return is_alive(query.generation) && query.anchor == AnchorKind::every_object;
}

/// Binds the calling thread to the device, and so what it allocates there.
int bind(int device) {
  check(cudaSetDevice(device));
  return device;
}

template <int dimensions>
class GpuEngine final : public Engine {
 public:
  explicit GpuEngine(const EngineOptions& options)
      : device_(bind(options.device)),
        faults_(options.faults),
        memory_(options.memory_bytes_max),
        halves_{Staging(&pinned_memory()), Staging(&pinned_memory())},
        kept_rows_(&pinned_memory()),
        objects_(memory_),
        sort_(memory_),
        lists_{DeviceLists(memory_), DeviceLists(memory_)},
        sizes_(memory_),
        last_searches_(memory_),
        reports_(memory_),
        report_neighbors_(memory_),
        report_states_(memory_),
        totals_(1),
        trees_{DeviceTree<dimensions>(memory_), DeviceTree<dimensions>(memory_)},
        questions_beside_(memory_),
        questions_between_(memory_) {
    engine_thread_.post([this] { static_cast<void>(cudaSetDevice(device_)); });
    question_thread_.post([this] { static_cast<void>(cudaSetDevice(device_)); });
  }

  std::string_view name() const override { return "cuda"; }
  const EngineLimits& limits() const override { return limits_; }

  EngineBytes bytes_used() const override {
    return {.state = objects_.bytes_used(),
            .index = trees_[finished_].bytes_used(),
            .spare_index = trees_[1 - finished_].bytes_used() + sort_.bytes_used()};
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
    const bool waits = std::ranges::any_of(queries, reads_objects);
    TaskThread& thread = waits ? engine_thread_ : question_thread_;
    Questions<dimensions>& asker = waits ? questions_between_ : questions_beside_;
    thread.post([this, &asker, queries = std::move(queries), handler = std::move(handler)] {
      handler(answers_or_error([&] { return answer(queries, asker); }));
    });
  }

  void read_lists(std::vector<Slot> queries, AnswersHandler handler) override {
    engine_thread_.post([this, queries = std::move(queries), handler = std::move(handler)] {
      handler(answers_or_error([&] { return copied_lists(queries); }));
    });
  }

  EngineState export_state() override {
    return engine_thread_.run<EngineState>([this] { return copy_state(); });
  }

  void import_state(const EngineState& state) override {
    engine_thread_.run<void>([&] { take_state(state); });
  }

  void recycle(std::unique_ptr<TickResult> result) override {
    results_.give_back(std::move(result));
  }

 private:
  void run_tick(Tick tick, std::int64_t tau_us, Staging& half);
  void take_rows(Staging& half);
  void apply(const Staging& half);
  void build();
  void compute(std::int64_t tau_us, TickResult& result);
  std::shared_ptr<DevicePlan> next_plan();
  void search_lists(DeviceLists& now, std::int64_t tau_us);
  void collect_changes(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                       TickResult& result);
  void finish(Tick tick, std::int64_t tau_us);
  void fail_if_asked(FaultInjection::Stage stage) const;
  Answers answer(std::span<const OneShotQuery> queries, Questions<dimensions>& asker);
  Answers copied_lists(const std::vector<Slot>& queries);
  EngineState copy_state();
  void take_state(const EngineState& state);

  DeviceLists& last_lists() { return lists_[finished_lists_]; }

  // Places and searches are numbered in 32 bits, 32 threads each in a launch.
  static constexpr EngineLimits limits_{.objects_max = std::uint64_t{1} << 31,
                                        .queries_max = std::uint64_t{1} << 31,
                                        .neighbors_max = std::uint64_t{1} << 33};

  const int device_;
  const std::shared_ptr<const FaultInjection> faults_;
  ResultHandler on_result_;
  std::atomic<bool> under_way_{false};
  DeviceMemory memory_;
  std::array<Staging, 2> halves_;
  std::size_t writing_ = 0;

  // Of the engine's thread:
  Stream stream_;
  Event started_, applied_, built_, searched_, compared_, copied_;
  Staging kept_rows_;              ///< of failed ticks that could not apply them
  std::vector<QueryRow> queries_;  ///< by slot
  bool queries_changed_ = false;
  bool membership_changed_ = false;
  DeviceObjects objects_;
  typename DeviceTree<dimensions>::Sort sort_;
  int order_age_ticks_ = 0;
  std::array<DeviceLists, 2> lists_;
  std::size_t finished_lists_ = 0;
  ReportSizes sizes_;
  DeviceBuffer<std::uint32_t> last_searches_;
  DeviceBuffer<ReportedList> reports_;
  DeviceBuffer<Neighbor> report_neighbors_;
  DeviceBuffer<NeighborState> report_states_;
  PinnedBuffer<ReportSize> totals_;
  ReturnPool<PinnedBuffer<Neighbor>> neighbors_pool_;

  /// Guards what follows, and that the objects' arrays stay where they are; the engine's thread,
  /// which alone writes, reads without.
  std::mutex finished_mutex_;
  std::array<DeviceTree<dimensions>, 2> trees_;
  std::size_t finished_ = 0;  ///< the tree of the last finished tick
  Tick tick_{};
  std::int64_t tau_us_ = 0;
  bool objects_ahead_ = false;  ///< of that tick: one failed after it

  ResultPool results_;

  Questions<dimensions> questions_beside_;
  Questions<dimensions> questions_between_;
  TaskThread engine_thread_;
  TaskThread question_thread_;
};

template <int dimensions>
void GpuEngine<dimensions>::run_tick(Tick tick, std::int64_t tau_us, Staging& half) {
  std::unique_ptr<TickResult> result = results_.take();
  result->tick = tick;
  result->tau_us = tau_us;
  try {
    started_.record(stream_);
    take_rows(half);
    fail_if_asked(FaultInjection::Stage::after_rows);
    applied_.record(stream_);
    build();
    built_.record(stream_);
    compute(tau_us, *result);
    finish(tick, tau_us);
  } catch (const std::exception& error) {
    static_cast<void>(cudaStreamSynchronize(stream_.get()));  // copies under way end here
    const std::lock_guard lock(finished_mutex_);
    objects_ahead_ = true;
    queries_changed_ = true;  // the next tick makes its plan anew
    result->error = sentence_of(error, "remove queries or objects, or ask for fewer neighbours");
    const auto* const of_device = dynamic_cast<const DeviceError*>(&error);
    result->is_engine_lost = of_device != nullptr && of_device->is_final();
    result->lists.clear();
    result->states.clear();
  }
  result->objects = objects_.alive_count();
  under_way_ = false;
  on_result_(std::move(result));
}

// Rows that were applied stay applied if the tick fails later: the next one computes from them.
// Only those that were not are kept.
template <int dimensions>
void GpuEngine<dimensions>::take_rows(Staging& half) {
  try {
    fail_if_asked(FaultInjection::Stage::before_rows);
    if (!kept_rows_.is_empty()) {
      apply(kept_rows_);
      kept_rows_.clear();
    }
    apply(half);
  } catch (const std::exception&) {
    keep_rows(half, kept_rows_);
    throw;
  }
  half.clear();
}

template <int dimensions>
void GpuEngine<dimensions>::apply(const Staging& half) {
  {
    const std::lock_guard lock(finished_mutex_);
    objects_.reserve(half, stream_);
  }
  objects_.apply(half, stream_);
  for (const QueryRow& query : half.queries) {
    if (query.slot >= queries_.size()) queries_.resize(query.slot + 1);
    queries_[query.slot] = query;
    queries_changed_ = true;
  }
  membership_changed_ = objects_.take_membership_changed() || membership_changed_;
}

template <int dimensions>
void GpuEngine<dimensions>::build() {
  DeviceTree<dimensions>& tree = trees_[1 - finished_];
  tree.reserve(objects_.alive_count());
  sort_.reserve(objects_.slot_count());
  tree.build_async(objects_.view(), objects_.alive_count(), sort_, stream_);
}

template <int dimensions>
void GpuEngine<dimensions>::compute(std::int64_t tau_us, TickResult& result) {
  DeviceLists& last = last_lists();
  DeviceLists& now = lists_[1 - finished_lists_];
  now.lay_out(next_plan());
  search_lists(now, tau_us);
  searched_.record(stream_);
  const bool same_plan = last.plan() == now.plan();
  const ListMatching matching = same_plan
                                    ? ListMatching{}
                                    : match_lists(last.plan()->directory(), now.plan()->directory(),
                                                  now.plan()->list_count());
  collect_changes(last, now, matching, result);
  result.times = {.copy_in_ms = applied_.ms_since(started_),
                  .build_ms = built_.ms_since(applied_),
                  .search_ms = searched_.ms_since(built_),
                  .diff_ms = compared_.ms_since(searched_),
                  .copy_out_ms = copied_.ms_since(compared_)};
  fail_if_asked(FaultInjection::Stage::after_search);
}

// The last plan serves while the lists are the same; where anchors move, its order of place wears
// off, and it is ordered anew every few ticks.
template <int dimensions>
std::shared_ptr<DevicePlan> GpuEngine<dimensions>::next_plan() {
  std::shared_ptr<DevicePlan> plan = last_lists().plan();
  const bool same_lists =
      !queries_changed_ && !(plan->directory().has_every_object && membership_changed_);
  const bool in_order =
      !plan->directory().has_moving_anchors || ++order_age_ticks_ < order_age_ticks_max;
  if (same_lists && in_order) return plan;
  const DeviceTree<dimensions>& tree = trees_[1 - finished_];
  if (!same_lists) {
    if (std::ranges::any_of(queries_, is_every_object)) objects_.fetch(stream_);
    plan = std::make_shared<DevicePlan>(memory_, queries_, objects_);
    sort_.reserve(plan->list_count());
    plan->number_by_place(tree, objects_.view(), sort_, stream_);
  } else {
    plan->order_async(tree, objects_.view(), sort_, stream_);
  }
  order_age_ticks_ = 0;
  queries_changed_ = membership_changed_ = false;
  return plan;
}

template <int dimensions>
void GpuEngine<dimensions>::search_lists(DeviceLists& now, std::int64_t tau_us) {
  const ListsView lists = now.view();
  const ListsView last = last_lists().view();
  const bool is_seeded = last_lists().plan() == now.plan();
  now.plan()->for_each_class([&](SearchBatch batch) {
    batch.tau_us = tau_us;
    if (is_seeded) {
      batch.last_counts = last.counts;
      batch.last_slots = last.slots;
      batch.last_leaves = last_lists().leaves().data();
    }
    batch.counts = lists.counts;
    batch.neighbors = lists.neighbors;
    batch.slots = lists.slots;
    batch.leaves = now.leaves().data();
    search_async<dimensions>(trees_[1 - finished_].view(), objects_.view(), batch, stream_);
  });
}

template <int dimensions>
void GpuEngine<dimensions>::collect_changes(DeviceLists& last, DeviceLists& now,
                                            const ListMatching& matching, TickResult& result) {
  const DevicePlan& plan = *now.plan();
  const bool same_plan = last.plan() == now.plan();
  sizes_.reserve(plan.list_count());
  if (!same_plan) {
    last_searches_.reserve(plan.list_count());
    copy_to_device_async(std::span<const std::uint32_t>(matching.last_search), last_searches_,
                         stream_);
  }
  sizes_.compare_async(plan.device_rows(), plan.list_count(), now.view(), last.view(),
                       same_plan ? nullptr : last_searches_.data(), stream_);
  totals_[0] = {};
  if (plan.list_count() > 0)
    copy_to_host_async(sizes_.sums() + plan.list_count() - 1, std::span(totals_.data(), 1),
                       stream_);
  stream_.wait();
  const ReportSize total = totals_[0];
  if (total.lists > reports_.room()) {
    reports_.reserve(total.lists);
    // The gaps between their members are copied too, and belong to nobody.
    check(
        cudaMemsetAsync(reports_.data(), 0, reports_.room() * sizeof(ReportedList), stream_.get()));
  }
  report_neighbors_.reserve(total.neighbors);
  report_states_.reserve(total.states);
  collect_async(plan.device_rows(), plan.list_count(), now.view(), sizes_.sums(), objects_.view(),
                {reports_.data(), report_neighbors_.data(), report_states_.data()}, stream_);
  compared_.record(stream_);

  const auto neighbors = neighbors_pool_.take();
  neighbors->reserve(total.neighbors);
  result.lists.resize(total.lists);
  result.states.resize(total.states);
  copy_to_host_async(reports_.data(), std::span(result.lists), stream_);
  copy_to_host_async(report_neighbors_.data(), std::span(neighbors->data(), total.neighbors),
                     stream_);
  copy_to_host_async(report_states_.data(), std::span(result.states), stream_);
  copied_.record(stream_);
  stream_.wait();
  result.neighbors = std::span(neighbors->data(), total.neighbors);
  result.neighbors_owner = neighbors;
  merge_removals(matching.removals, result.lists);
}

template <int dimensions>
void GpuEngine<dimensions>::finish(Tick tick, std::int64_t tau_us) {
  const std::lock_guard lock(finished_mutex_);
  finished_ = 1 - finished_;
  finished_lists_ = 1 - finished_lists_;
  tick_ = tick;
  tau_us_ = tau_us;
  objects_ahead_ = false;
}

template <int dimensions>
void GpuEngine<dimensions>::fail_if_asked(FaultInjection::Stage stage) const {
  if (!faults_) return;
  if (faults_->stage == stage)
    throw std::runtime_error("the GPU was made to fail; it will work again");
  if (faults_->stage == FaultInjection::Stage::device_lost) check(cudaErrorECCUncorrectable);
}

template <int dimensions>
Answers GpuEngine<dimensions>::answer(std::span<const OneShotQuery> queries,
                                      Questions<dimensions>& asker) {
  const std::lock_guard lock(finished_mutex_);
  if (objects_ahead_) throw std::runtime_error(ask_after_next_tick);
  Answers answers;
  answers.tick = tick_;
  answers.tau_us = tau_us_;
  asker.answer(queries, trees_[finished_].view(), objects_.view(), tau_us_, answers);
  return answers;
}

template <int dimensions>
Answers GpuEngine<dimensions>::copied_lists(const std::vector<Slot>& queries) {
  Answers answers;
  answers.tick = tick_;
  answers.tau_us = tau_us_;
  copy_lists(queries, last_lists(), objects_ahead_, objects_.view(), memory_, stream_, answers);
  return answers;
}

template <int dimensions>
EngineState GpuEngine<dimensions>::copy_state() {
  if (!kept_rows_.is_empty()) {
    apply(kept_rows_);
    kept_rows_.clear();
  }
  EngineState state = export_parts(objects_, queries_, last_lists(), stream_);
  state.tick = tick_;
  state.tau_us = tau_us_;
  state.objects_ahead = objects_ahead_;
  return state;
}

template <int dimensions>
void GpuEngine<dimensions>::take_state(const EngineState& state) {
  check_invariant(tick_ == Tick{}, "state is imported into an engine that has not ticked");
  Staging rows(&pinned_memory());
  rows.births.assign(state.births.begin(), state.births.end());
  rows.objects.assign(state.objects.begin(), state.objects.end());
  rows.queries.assign(state.queries.begin(), state.queries.end());
  apply(rows);
  queries_changed_ = true;
  import_lists(state, last_lists(), memory_, stream_);
  build();
  stream_.wait();
  const std::lock_guard lock(finished_mutex_);
  finished_ = 1 - finished_;
  tick_ = state.tick;
  tau_us_ = state.tau_us;
  objects_ahead_ = state.objects_ahead;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
  if (options.space == Space::planar2) return std::make_unique<GpuEngine<2>>(options);
  return std::make_unique<GpuEngine<3>>(options);
}

}  // namespace starling::gpu
