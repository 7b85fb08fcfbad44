// SPDX-License-Identifier: Apache-2.0
// Begins ticks, and takes each through its parts: the schedule, the engine, the sorting of its
// result, and its messages. See ticker.hpp.
#include "starling/stream/publishing/ticker.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/publishing/result_sorting.hpp"
#include "starling/stream/publishing/tick_schedule.hpp"
#include "starling/stream/publishing/tick_watch.hpp"

namespace starling::stream {

namespace {

// A tick begins only if fewer ticks than this have begun and are not sent yet. Four ticks can be
// under way at once: the device gets the rows of one, computes one, and copies the result of one,
// and one is encoded.
constexpr std::size_t ticks_begun_max = 4;

}  // namespace

class Ticker::State {
 public:
  State(Executor& executor, const TickerOptions& options, Tables& tables, Publisher& publisher,
        Results& results, Metrics& metrics, TickTrace* trace)
      : executor_(executor),
        tables_(tables),
        journal_(options.journal),
        watch_(executor, metrics, trace, options.period_us.value_or(0)),
        schedule_(executor, tables, journal_, watch_,
                  {.is_busy = [this] { return is_busy(); },
                   .begin = [this](std::int64_t tau_us) { begin(tau_us, {}, {}); }}),
        sorting_(executor, tables, [this](std::int64_t arrived_us) { finish(arrived_us); }),
        messages_({.executor = executor,
                   .tables = tables,
                   .journal = journal_,
                   .publisher = publisher,
                   .results = results,
                   .watch = watch_,
                   .publishing = options.publishing,
                   .encode_threads = options.encode_threads,
                   .ended = [this] { tell_if_idle(); }}),
        recovered_(tables.processor()) {}

  TickSchedule& schedule() { return schedule_; }
  ResultSorting& sorting() { return sorting_; }
  const TickMessages& messages() const { return messages_; }
  const TickWatch& watch() const { return watch_; }
  RecoveredTicks& recovered() { return recovered_; }
  Tables& tables() { return tables_; }

  /// Whether no tick may begin now.
  bool is_busy() const {
    if (schedule_.is_log_full()) return true;
    if (journal_ != nullptr && journal_->wants_pause() && !under_way_.empty()) return true;
    return is_preparing_ || !tables_.processor().has_room() ||
           under_way_.size() + messages_.count() >= ticks_begun_max;
  }

  void begin(std::int64_t tau_us, TickBegunRecord mark, TickFinished finished) {
    under_way_.push_back({executor_.now_us(), std::move(finished)});
    is_preparing_ = true;
    Processor& processor = tables_.processor();
    mark.tick = last_begun_ = Tick{to_number(std::max(last_begun_, processor.last_tick())) + 1};
    mark.tau_us = tau_us;
    tables_.prepare_tick(
        tau_us,
        [this, tick = mark.tick, has_removed = false]() mutable {
          if (has_removed && journal_ != nullptr && journal_->commits().is_behind()) return false;
          has_removed = !remove_some_outgrown(tick);
          return !has_removed;
        },
        [this, &processor, mark] {
          is_preparing_ = false;
          // The mark is appended before the engine gets the tick, because the engine's threads may
          // then keep this thread off its core for the whole search.
          if (journal_ != nullptr) journal_->append(mark);
          tables_.growth().lists_begin();
          check_invariant(processor.begin_tick(mark.tau_us),
                          "a tick begins only if the engine has room");
        });
  }

  /// Calls `idle` when all ticks that have begun are published, which may be at once.
  void stop(std::function<void()> idle) {
    schedule_.stop();
    on_idle_ = std::move(idle);
    tell_if_idle();
  }

 private:
  /// A tick whose result has not come yet.
  struct UnderWay {
    std::int64_t begun_us = 0;
    TickFinished finished;
  };

  /// Removes the next queries that have outgrown a limit, and appends their records. Returns
  /// whether the rest fits.
  bool remove_some_outgrown(Tick tick) {
    const std::vector<OutgrownQuery> removed = tables_.outgrown().remove_some(tick);
    if (journal_ != nullptr)
      journal_->append_outgrown(tick, removed, tables_.processor().queries());
    return removed.size() < OutgrownQueries::queries_at_once;
  }

  void finish(std::int64_t arrived_us) {
    auto report = std::make_shared<TickReport>(tables_.processor().end_finish_tick());
    if (journal_ != nullptr) journal_->append(TickFinishedRecord{report->tick, report->error});
    UnderWay begun = std::move(under_way_.front());
    under_way_.pop_front();
    watch_.finished(*report, begun.begun_us, arrived_us);
    tables_.growth().set_engine_bytes(report->result->engine_bytes);
    if (!report->error.empty() && journal_ != nullptr)
      journal_->commits().commit_now();  // the tick's messages wait for this record
    if (report->result->is_engine_lost)
      throw std::runtime_error("the engine is lost: " + report->error + "; start the server again");
    const TickTimeline timeline{.tick = report->tick,
                                .begun_us = begun.begun_us,
                                .arrived_us = arrived_us,
                                .stages = report->times,
                                .ends = report->result->ends};
    messages_.publish(report, timeline, std::move(begun.finished));
  }

  void tell_if_idle() {
    if (!on_idle_ || is_preparing_ || tables_.processor().tick_under_way()) return;
    if (messages_.count() == 0) std::exchange(on_idle_, {})();
  }

  Executor& executor_;
  Tables& tables_;
  Journal* journal_;
  TickWatch watch_;
  TickSchedule schedule_;
  ResultSorting sorting_;
  std::deque<UnderWay> under_way_;  ///< sorted by tick
  bool is_preparing_ = false;  ///< the tables prepare a tick that the processor has not begun yet
  Tick last_begun_{};          ///< the last tick that has begun, or is being prepared
  std::function<void()> on_idle_;
  TickMessages messages_;
  RecoveredTicks recovered_;
};

Ticker::Ticker(Executor& executor, const TickerOptions& options, Tables& tables,
               Publisher& publisher, Results& results, Metrics& metrics, TickTrace* trace)
    : period_us_(options.period_us),
      tau_step_max_us_(options.tau_step_max_us),
      state_(
          std::make_shared<State>(executor, options, tables, publisher, results, metrics, trace)) {
  // The engine may deliver a result after this ticker is destroyed, so the handler holds a weak
  // pointer. Only the loop locks the weak pointer, so no thread of the engine destroys State.
  tables.processor().engine().set_result_handler([&executor, weak = std::weak_ptr(state_),
                                                  recovered = state_->recovered().results()](
                                                     std::unique_ptr<TickResult> result) {
    if (recovered->keep(result)) return;
    executor.post([weak, held = std::make_shared<std::unique_ptr<TickResult>>(std::move(result))] {
      if (const auto state = weak.lock()) state->sorting().take(std::move(*held));
    });
  });
}

Ticker::~Ticker() = default;

void Ticker::start() {
  if (!state_->tables().time().is_manual()) state_->schedule().start(*period_us_);
}

Ticker::Begun Ticker::advance(std::int64_t tau_us, const TickBegunRecord& mark,
                              TickFinished finished) {
  if (state_->is_busy() || state_->schedule().is_stopped()) return Begun::busy;
  Tables& tables = state_->tables();
  const auto last_us = tables.processor().last_tau_us();
  if (last_us && tau_us < *last_us) return Begun::tau_too_early;
  if (tau_step_max_us_ > 0 &&
      saturating_sub(tau_us, tables.time().step_base_us()) > tau_step_max_us_)
    return Begun::tau_too_late;
  state_->begin(tau_us, mark, std::move(finished));
  return Begun::begun;
}

std::size_t Ticker::publishing_count() const {
  return state_->messages().count();
}

const std::string& Ticker::last_error() const {
  return state_->watch().last_error();
}

RecoveredTicks& Ticker::recovered_ticks() {
  return state_->recovered();
}

void Ticker::stop(std::function<void()> idle) {
  state_->stop(std::move(idle));
}

}  // namespace starling::stream
