// SPDX-License-Identifier: Apache-2.0
// GpuEngine computes ticks on a thread of its own. A tick applies its rows, builds the index,
// searches the lists, and compares the lists with those of the last tick. The index has layers for
// filters that few objects pass. A small tick is answered without an index. TickIntake passes ticks
// in, and ReportDelivery passes results out. See engine.hpp.
#include "starling/gpu/points/engine.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "starling/gpu/device/bound_to_device.hpp"
#include "starling/gpu/device/check.hpp"
#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/engine_state.hpp"
#include "starling/gpu/points/filters/filter_layers.hpp"
#include "starling/gpu/points/finished_tick.hpp"
#include "starling/gpu/points/lists/device_lists.hpp"
#include "starling/gpu/points/lists/device_plan.hpp"
#include "starling/gpu/points/lists/list_changes.hpp"
#include "starling/gpu/points/lists/list_copies.hpp"
#include "starling/gpu/points/lists/tell_host_launch.hpp"
#include "starling/gpu/points/objects/device_objects.hpp"
#include "starling/gpu/points/objects/device_rows.hpp"
#include "starling/gpu/points/outgoing_tick.hpp"
#include "starling/gpu/points/questions.hpp"
#include "starling/gpu/points/report_delivery.hpp"
#include "starling/gpu/points/search/flat_search_launch.hpp"
#include "starling/gpu/points/tick_index.hpp"
#include "starling/gpu/points/tick_intake.hpp"
#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/task_thread.hpp"
#include "starling/knn/base/usage.hpp"
#include "starling/knn/engine/engine_answers.hpp"
#include "starling/knn/engine/kept_rows.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::gpu {
namespace {

/// If anchors move, the searches are put into spatial order again after this many ticks.
constexpr int order_age_ticks_max = 8;

bool is_every_object(const QueryRow& query) {
  return is_alive(query.generation) && query.anchor == AnchorKind::every_object;
}

template <int dimensions>
class GpuEngine final : public Engine {
 public:
  /// The calling thread must be bound to the device.
  GpuEngine(const PointEngineOptions& options, std::shared_ptr<const FaultInjection> faults)
      : space_(options.space),
        small_(options.small),
        faults_(std::move(faults)),
        memory_(options.memory_bytes_max),
        kept_rows_(&pinned_memory()),
        objects_(memory_, stream_),
        layers_(memory_, DeviceIndex<dimensions>::entry_group),
        workspace_(memory_),
        search_sort_(memory_),
        lists_{DeviceLists(memory_), DeviceLists(memory_)},
        changes_(memory_),
        finished_(memory_, objects_),
        questions_beside_(memory_, small_.searches_max),
        questions_between_(memory_, small_.searches_max),
        delivery_(memory_, options.device),
        intake_(memory_, options.device, small_.part_rows_min, faults_,
                [this](BegunTick& begun) { run_tick(begun); }) {
    question_thread_.post([device = options.device] { static_cast<void>(cudaSetDevice(device)); });
  }

  std::string_view name() const override { return "cuda"; }
  SpaceOptions space() const override { return {.space = space_}; }
  const EngineLimits& limits() const override { return limits_; }

  EngineBytes bytes_used() const override {
    return {.state = objects_.bytes_used(),
            .index = finished_.index().bytes_used(),
            .spare_index = finished_.spare_index().bytes_used() + workspace_.bytes_used() +
                           layers_.bytes_used()};
  }

  void set_result_handler(ResultHandler handler) override {
    delivery_.set_handler(std::move(handler));
  }

  Staging& staging() override { return intake_.staging(); }

  void take_ahead() override { intake_.take_ahead(); }

  bool has_room() const override { return intake_.has_room(); }

  bool begin_tick(Tick tick, std::int64_t tau_us) override { return intake_.begin(tick, tau_us); }

  void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) override {
    check_questions(queries, *this);
    if (std::ranges::any_of(queries, reads_objects))
      answer_between_ticks(
          [this, queries = std::move(queries)] { return answer(queries, questions_between_); },
          std::move(handler));
    else
      question_thread_.post([this, queries = std::move(queries), handler = std::move(handler)] {
        handler(answers_or_error([&] { return answer(queries, questions_beside_); }));
      });
  }

  void read_lists(std::vector<Slot> queries, AnswersHandler handler) override {
    answer_between_ticks([this, queries = std::move(queries)] { return copied_lists(queries); },
                         std::move(handler));
  }

  EngineState export_state() override {
    return intake_.run<EngineState>([this] { return copy_state(); });
  }

  void import_state(const EngineState& state) override {
    intake_.run<void>([&] { take_state(state); });
  }

 private:
  void run_tick(BegunTick& begun);
  bool is_small(const Staging& staged) const;
  void take_rows(BegunTick& begun, OutgoingTick& out);
  void release_rows(BegunTick& begun);
  void release_rows_after_failure(BegunTick& begun, OutgoingTick& out);
  void apply_begun(BegunTick& begun, OutgoingTick& out);
  void apply_kept_rows();
  void apply_at_once(const Staging& staged);
  void apply(const Staging& staged, const DeviceRows& rows);
  void tell_changes_async();
  void count_passing_async(std::int64_t tau_us);
  void compute(std::int64_t tau_us, OutgoingTick& out);
  void answer_small(std::int64_t tau_us, OutgoingTick& out);
  void report_few(const ListMatching& matching, OutgoingTick& out);
  std::shared_ptr<DevicePlan> next_plan();
  template <class Search>
  void search_lists(DeviceLists& now, std::int64_t tau_us, const Search& search);
  void fail(const std::exception& error, OutgoingTick& out);
  void fail_if_asked(FaultInjection::Stage stage) const;
  template <class Ask>
  void answer_between_ticks(Ask ask, AnswersHandler handler);
  Answers answer(std::span<const OneShotQuery> queries, Questions<dimensions>& asker);
  Answers copied_lists(const std::vector<Slot>& queries);
  EngineState copy_state();
  void take_state(const EngineState& state);

  DeviceLists& last_lists() { return lists_[finished_lists_]; }
  DeviceLists& next_lists() { return lists_[1 - finished_lists_]; }

  // Places and searches have 32-bit numbers, and a launch has up to 32 threads for each place or
  // search. This limits objects_max and queries_max.
  static constexpr EngineLimits limits_{.objects_max = std::uint64_t{1} << 31,
                                        .queries_max = std::uint64_t{1} << 31,
                                        .neighbors_max = std::uint64_t{1} << 33};

  const Space space_;
  const SmallWork small_;
  const std::shared_ptr<const FaultInjection> faults_;
  DeviceMemory memory_;

  // Only the engine's thread uses these members, except finished_:
  CudaStream stream_;
  Event rows_applied_;  ///< the CUDA stream has applied the rows; recorded in ticks with an index
  Staging kept_rows_;   ///< rows that failed ticks could not apply
  std::vector<QueryRow> queries_;  ///< [slot]
  bool queries_changed_ = false;
  bool membership_changed_ = false;
  DeviceObjects objects_;
  FilterLayers layers_;
  bool layers_know_queries_ = true;  ///< true if layers_ has the filters of queries_
  typename DeviceIndex<dimensions>::Workspace workspace_;
  SearchSort<dimensions> search_sort_;
  int order_age_ticks_ = 0;
  std::array<DeviceLists, 2> lists_;
  std::size_t finished_lists_ = 0;
  ListChanges changes_;
  FinishedTick<dimensions> finished_;  ///< the question thread uses it, too

  Questions<dimensions> questions_beside_;   ///< used by the question thread
  Questions<dimensions> questions_between_;  ///< used by the engine's thread, between ticks

  // Members are destroyed from the last to the first. Each thread therefore ends before the members
  // that it uses are destroyed: first the question thread, then TickIntake's threads, then
  // ReportDelivery's thread.
  ReportDelivery delivery_;
  const DrainAtEnd drain_{stream_};  ///< waits for enqueued work before memory is freed
  TickIntake intake_;
  TaskThread question_thread_;
};

template <int dimensions>
void GpuEngine<dimensions>::run_tick(BegunTick& begun) {
  const Tick tick = begun.tick;
  const std::int64_t tau_us = begun.tau_us;
  OutgoingTick& out = delivery_.next();
  out.result = std::make_unique<TickResult>();
  out.result->tick = tick;
  out.result->tau_us = tau_us;
  out.has_index = false;
  bool holds_rows = false;
  try {
    const bool small = is_small(begun.staged);
    take_rows(begun, out);
    holds_rows = true;
    if (small) {
      answer_small(tau_us, out);
    } else {
      tell_changes_async();
      count_passing_async(tau_us);
      rows_applied_.record(stream_);
      stream_.wait();
      if (begun.is_copied_beside) begun.tell_copies(rows_applied_, out.result->ends);
    }
    if (begun.is_copied_beside)
      out.result->times.copy_in_ms = begun.copied.ms_since(begun.copy_begun);
    release_rows(begun);
    holds_rows = false;
    fail_if_asked(FaultInjection::Stage::after_rows);
    if (!small) compute(tau_us, out);
    fail_if_asked(FaultInjection::Stage::after_search);
    // From here on only the copy to the host can fail.
    finished_lists_ = 1 - finished_lists_;
    finished_.finish(tick, tau_us);
  } catch (const std::exception& error) {
    fail(error, out);
    if (holds_rows) release_rows_after_failure(begun, out);
  }
  out.result->objects = objects_.alive_count();
  out.result->engine_bytes = bytes_used().total();
  delivery_.deliver(out);
}

template <int dimensions>
void GpuEngine<dimensions>::fail(const std::exception& error, OutgoingTick& out) {
  stream_.drain();
  delivery_.cuda_stream().drain();
  finished_.fail();
  queries_changed_ = true;  // so that the next tick makes a new plan
  layers_know_queries_ = false;
  const auto* const of_device = dynamic_cast<const DeviceError*>(&error);
  out.fail(sentence_of(error, "remove queries or objects, or ask for fewer neighbours"),
           of_device != nullptr && of_device->is_final());
}

/// Returns true if the tick is answered without an index. The tick must have the same lists as the
/// last tick, and at least one list. There must be few lists, few objects, and no list of an
/// every-object query.
template <int dimensions>
bool GpuEngine<dimensions>::is_small(const Staging& staged) const {
  const DevicePlan& plan = *lists_[finished_lists_].plan();
  return !queries_changed_ && staged.queries.empty() && plan.list_count() > 0 &&
         !plan.directory().has_every_object && ListChanges::are_few(plan) &&
         objects_.slots_with(staged.births) <= small_.objects_max;
}

// If applying the rows fails, the engine keeps the rows for the next tick. If the tick fails later,
// its rows stay applied, and the next tick computes from them.
template <int dimensions>
void GpuEngine<dimensions>::take_rows(BegunTick& begun, OutgoingTick& out) {
  try {
    apply_begun(begun, out);
  } catch (const std::exception&) {
    intake_.drain();
    stream_.drain();
    keep_rows(begun.staged, kept_rows_);
    intake_.give_back(begun);
    throw;
  }
}

/// Call after the CUDA stream has applied the tick's rows and has stored their change counts to the
/// host.
template <int dimensions>
void GpuEngine<dimensions>::release_rows(BegunTick& begun) {
  objects_.applied();
  membership_changed_ = objects_.take_membership_changed() || membership_changed_;
  intake_.give_back(begun);
}

/// Releases the rows of a tick that failed after its rows were applied. The host may not have the
/// rows' change counts yet, so release_rows_after_failure stores the counts to the host. If the
/// store fails, the engine is lost.
template <int dimensions>
void GpuEngine<dimensions>::release_rows_after_failure(BegunTick& begun, OutgoingTick& out) {
  try {
    if (!out.result->is_engine_lost) tell_changes_async();
  } catch (const std::exception& error) {
    out.fail(error.what(), true);
  }
  stream_.drain();
  release_rows(begun);
}

template <int dimensions>
void GpuEngine<dimensions>::apply_begun(BegunTick& begun, OutgoingTick& out) {
  fail_if_asked(FaultInjection::Stage::before_rows);
  if (begun.copy_error) std::rethrow_exception(begun.copy_error);
  apply_kept_rows();
  if (begun.is_copied_beside) stream_.begin_after(begun.copied);
  out.started.record(stream_);
  if (!begun.is_copied_beside) begun.rows.use(begun.staged);
  apply(begun.staged, begun.rows);
}

template <int dimensions>
void GpuEngine<dimensions>::apply_kept_rows() {
  if (kept_rows_.is_empty()) return;
  apply_at_once(kept_rows_);
  kept_rows_.clear();
}

/// Copies rows to the device, applies them, and waits for the CUDA stream.
template <int dimensions>
void GpuEngine<dimensions>::apply_at_once(const Staging& staged) {
  DeviceRows rows(memory_);
  const DrainAtEnd drain(stream_);
  rows.copy_async(staged, stream_);
  apply(staged, rows);
  tell_changes_async();
  stream_.wait();
  objects_.applied();
}

template <int dimensions>
void GpuEngine<dimensions>::apply(const Staging& staged, const DeviceRows& rows) {
  finished_.wait_for_older_readers();
  if (!objects_.has_room(staged.births)) {
    const typename FinishedTick<dimensions>::Closed closed(finished_);
    objects_.reserve(staged.births, stream_);
  }
  objects_.apply_async(staged, rows, stream_);
  for (const QueryRow& query : staged.queries) {
    if (query.slot >= queries_.size()) queries_.resize(query.slot + 1);
    queries_[query.slot] = query;
    queries_changed_ = true;
    layers_know_queries_ = false;
  }
}

template <int dimensions>
void GpuEngine<dimensions>::tell_changes_async() {
  fail_if_asked(FaultInjection::Stage::telling_host);
  const DeviceObjects::Telling telling = objects_.to_tell();
  tell_host_async(telling.changes, telling.host, stream_);
}

template <int dimensions>
void GpuEngine<dimensions>::count_passing_async(std::int64_t tau_us) {
  if (!layers_know_queries_) layers_.assign(queries_, stream_);
  layers_know_queries_ = true;
  layers_.count_async(objects_.view(), tau_us, stream_);
}

template <int dimensions>
void GpuEngine<dimensions>::compute(std::int64_t tau_us, OutgoingTick& out) {
  out.applied.record(stream_);
  TickIndex<dimensions>& index = finished_.next_index();
  layers_.choose(objects_.alive_count());
  layers_.list_async(objects_.view(), tau_us, stream_);
  index.build_async(objects_, layers_.view(), workspace_, stream_);
  out.has_index = true;
  out.built.record(stream_);
  DeviceLists& last = last_lists();
  DeviceLists& now = next_lists();
  now.lay_out(next_plan(), stream_);
  search_lists(now, tau_us, [&](const SearchBatch& batch) {
    index.search_async(objects_.view(), batch, stream_);
  });
  out.searched.record(stream_);
  ListMatching matching;
  if (last.plan() != now.plan())
    matching =
        match_lists(last.plan()->directory(), now.plan()->directory(), now.plan()->list_count());
  if (ListChanges::are_few(*now.plan())) return report_few(matching, out);
  const ReportSize size = changes_.compare(last, now, matching, stream_);
  out.reserve(size, std::move(matching.removals), stream_);
  changes_.collect_async(now, objects_.view(), out.collected(), stream_);
  out.copy_async(stream_, delivery_.cuda_stream());
}

/// Searches the objects' positions directly, without an index, in the CUDA stream that applies the
/// rows. Returns when the reports are on the host.
template <int dimensions>
void GpuEngine<dimensions>::answer_small(std::int64_t tau_us, OutgoingTick& out) {
  out.applied.record(stream_);
  DeviceLists& now = next_lists();
  now.lay_out(last_lists().plan(), stream_);
  search_lists(now, tau_us, [this](const SearchBatch& batch) {
    flat_search_async(objects_.view(), batch, stream_);
  });
  out.searched.record(stream_);
  report_few({}, out);
  finished_.next_index().copy_async(objects_.view(), stream_);
  out.wait_until_stored();
}

template <int dimensions>
void GpuEngine<dimensions>::report_few(const ListMatching& matching, OutgoingTick& out) {
  const DevicePlan& plan = *next_lists().plan();
  out.reserve_on_host({plan.room(), plan.room(), plan.list_count()}, matching.removals);
  const DeviceObjects::Telling telling = objects_.to_tell();
  changes_.report_few_async(last_lists(), next_lists(), matching, objects_.view(),
                            {out.on_host(), out.size_on_host(), telling.changes, telling.host},
                            stream_);
  out.stored_async(stream_);
}

// The last plan is used again while the lists stay the same. If anchors move, the plan's spatial
// order gets worse, so the searches are ordered again every order_age_ticks_max ticks.
template <int dimensions>
std::shared_ptr<DevicePlan> GpuEngine<dimensions>::next_plan() {
  std::shared_ptr<DevicePlan> plan = last_lists().plan();
  const bool same_lists =
      !queries_changed_ && !(plan->directory().has_every_object && membership_changed_);
  const bool in_order =
      !plan->directory().has_moving_anchors || ++order_age_ticks_ < order_age_ticks_max;
  if (same_lists && in_order) return plan;
  const DeviceIndex<dimensions>& index = finished_.next_index().index();
  if (!same_lists) {
    if (std::ranges::any_of(queries_, is_every_object)) objects_.fetch(stream_);
    plan = std::make_shared<DevicePlan>(memory_, queries_, layers_.numbers(), objects_);
    search_sort_.reserve(plan->list_count());
    plan->number_by_place<dimensions>(index, objects_.view(), search_sort_, stream_);
  } else {
    plan->order_async<dimensions>(index, objects_.view(), search_sort_, stream_);
  }
  order_age_ticks_ = 0;
  queries_changed_ = membership_changed_ = false;
  return plan;
}

template <int dimensions>
template <class Search>
void GpuEngine<dimensions>::search_lists(DeviceLists& now, std::int64_t tau_us,
                                         const Search& search) {
  const ListsView lists = now.view();
  const ListsView last = last_lists().view();
  const bool is_seeded = last_lists().plan() == now.plan();
  now.plan()->for_each_class([&](SearchBatch batch) {
    batch.tau_us = tau_us;
    batch.few_max = small_.searches_max;
    batch.routes = layers_.routes();
    batch.has_tests = layers_.has_tests();
    if (is_seeded) {
      batch.last_counts = last.counts;
      batch.last_slots = last.slots;
      batch.last_leaves = last_lists().notes().data();
    }
    batch.counts = lists.counts;
    batch.neighbors = lists.neighbors;
    batch.slots = lists.slots;
    batch.leaves = batch.postponed = now.notes().data();
    search(batch);
  });
}

template <int dimensions>
void GpuEngine<dimensions>::fail_if_asked(FaultInjection::Stage stage) const {
  if (!faults_) return;
  faults_->fail_if_asked(stage);
  if (faults_->stage == FaultInjection::Stage::device_lost) check(cudaErrorECCUncorrectable);
}

// Calls `ask` after all ticks begun so far are computed. Calls `handler` with the answers after the
// results of these ticks are delivered.
template <int dimensions>
template <class Ask>
void GpuEngine<dimensions>::answer_between_ticks(Ask ask, AnswersHandler handler) {
  intake_.post([this, ask = std::move(ask), handler = std::move(handler)] {
    delivery_.post(
        [handler, answers = answers_or_error(ask)]() mutable { handler(std::move(answers)); });
  });
}

template <int dimensions>
Answers GpuEngine<dimensions>::answer(std::span<const OneShotQuery> queries,
                                      Questions<dimensions>& asker) {
  const typename FinishedTick<dimensions>::Reading reading(finished_);
  Answers answers;
  answers.tick = reading.tick;
  answers.tau_us = reading.tau_us;
  asker.answer(queries, reading.index(), reading.objects, reading.tau_us, answers);
  return answers;
}

template <int dimensions>
Answers GpuEngine<dimensions>::copied_lists(const std::vector<Slot>& queries) {
  Answers answers;
  answers.tick = finished_.tick();
  answers.tau_us = finished_.tau_us();
  copy_lists(queries, last_lists(), finished_.objects_are_ahead(), objects_.view(), memory_,
             stream_, answers);
  return answers;
}

template <int dimensions>
EngineState GpuEngine<dimensions>::copy_state() {
  apply_kept_rows();
  EngineState state = export_parts(objects_, queries_, last_lists(), stream_);
  state.tick = finished_.tick();
  state.tau_us = finished_.tau_us();
  state.objects_ahead = finished_.objects_are_ahead();
  return state;
}

template <int dimensions>
void GpuEngine<dimensions>::take_state(const EngineState& state) {
  check_usage(finished_.tick() == Tick{},
              "import_state: the engine has ticked; import into a new one");
  Staging staged(&pinned_memory());
  staged.births.assign(state.births.begin(), state.births.end());
  staged.objects.assign(state.objects.begin(), state.objects.end());
  staged.queries.assign(state.queries.begin(), state.queries.end());
  const DrainAtEnd drain(stream_);  // waits for all copies from `staged` and `state`
  apply_at_once(staged);
  queries_changed_ = true;
  import_lists(state, last_lists(), memory_, stream_);
  finished_.next_index().build_async(objects_, {}, workspace_, stream_);
  stream_.wait();
  finished_.finish(state.tick, state.tau_us);
  if (state.objects_ahead) finished_.fail();
}

}  // namespace

std::unique_ptr<Engine> make_point_engine(const PointEngineOptions& options,
                                          std::shared_ptr<const FaultInjection> faults) {
  check_invariant(options.space != Space::vector, "moving points do not lie in a vector space");
  const BoundToDevice bound(options.device);
  if (options.space == Space::planar2)
    return std::make_unique<GpuEngine<2>>(options, std::move(faults));
  return std::make_unique<GpuEngine<3>>(options, std::move(faults));
}

}  // namespace starling::gpu
