// SPDX-License-Identifier: Apache-2.0
// Begins a tick, takes the engine's result, and sends the messages to the results socket: see
// ticker.hpp. Everything but the encoding of a large tick runs on the loop. A worker encodes the
// messages of a large tick, and helpers share this work.
#include "starling/stream/publishing/ticker.hpp"

#include <algorithm>
#include <deque>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

#include <spdlog/spdlog.h>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/times.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/pools/encode_helpers.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/pools/sliced_work.hpp"
#include "starling/stream/publishing/tick_outcome.hpp"
#include "starling/stream/state/loop_turns.hpp"
#include "starling/stream/state/overrun_log.hpp"
#include "starling/stream/state/tick_clock.hpp"

namespace starling::stream {

namespace {

// A tick begins only if fewer ticks have begun and are not sent yet: one whose rows are copied to
// the device, one that is computed, one whose result is copied, and one that is encoded.
constexpr std::size_t ticks_begun_max = 4;

// About 50 us.
constexpr std::size_t messages_per_step = 64;

/// Returns whether the tick's messages are encoded on the loop. On the workload W3, with two cores,
/// handing them to a worker takes longer.
bool is_small(const TickResult& result, std::size_t streams) {
  constexpr std::size_t streams_max = 16;
  constexpr std::size_t lists_max = 2048;
  constexpr std::uint64_t neighbors_max = 16'384;
  if (streams > streams_max || result.lists.size() > lists_max) return false;
  std::uint64_t neighbors = 0;
  for (const ReportedList& list : result.lists) neighbors += list.count;
  return neighbors <= neighbors_max;
}

}  // namespace

struct Ticker::State {
  /// A tick whose result has not come yet.
  struct UnderWay {
    std::int64_t begun_us = 0;
    Finished finished;
  };

  /// A tick whose messages are encoded.
  struct Encoded {
    std::shared_ptr<TickReport> report;
    TickTimeline timeline;
    std::vector<StreamPlan> plans;
    std::vector<protocol::TickMessage> messages;
    TickOutcome outcome;
    Finished finished;
    std::uint64_t bytes = 0;
    std::size_t sent = 0;       ///< number of messages sent
    PublishedRecord published;  ///< what the log gets
  };

  /// A result that has come and is not sorted yet.
  struct Arrived {
    std::int64_t at_us = 0;  ///< a time of the steady clock
    std::unique_ptr<TickResult> result;
  };

  State(Executor& the_executor, const TickerOptions& the_options, Tables& the_tables,
        TickTime& the_time, const protocol::ServedSpace& the_space, Publisher& the_publisher,
        Results& the_results, Metrics& the_metrics, TickTrace* the_trace)
      : executor(the_executor),
        options(the_options),
        tables(the_tables),
        processor(the_tables.processor()),
        time(the_time),
        space(the_space),
        publisher(the_publisher),
        results(the_results),
        metrics(the_metrics),
        trace(the_trace),
        timer(the_executor.make_timer()),
        overrun_log(the_options.period_us.value_or(0)),
        sorting(the_executor),
        sending(the_executor),
        helpers(the_options.encode_threads - 1),
        encoder(the_executor, 1) {}

  /// Whether no tick may begin because the log's disk is full.
  bool is_log_full() const { return options.journal != nullptr && options.journal->refusal(); }

  bool is_busy() const {
    if (is_log_full()) return true;
    if (options.journal != nullptr && options.journal->wants_pause() && !under_way.empty())
      return true;
    return preparing || !processor.has_room() ||
           under_way.size() + publishing_count() >= ticks_begun_max;
  }

  std::size_t publishing_count() const {
    return encoder.waiting() + waiting_for_log + sending_count;
  }

  void begin(std::int64_t tau_us, TickBegunRecord mark, Finished finished) {
    under_way.push_back({executor.now_us(), std::move(finished)});
    preparing = true;
    tables.prepare_tick(tau_us, [this, tau_us, mark]() mutable {
      preparing = false;
      // The mark goes first. Once the engine has the tick, its threads may keep this thread off its
      // core for the whole search.
      if (options.journal != nullptr) {
        mark.tick = last_begun = Tick{to_number(std::max(last_begun, processor.last_tick())) + 1};
        mark.tau_us = tau_us;
        options.journal->append(mark);
      }
      check_invariant(processor.begin_tick(tau_us), "a tick begins only if the engine has room");
    });
  }

  /// Returns the time for a tick. Only here does the time follow a step of the wall clock, so that
  /// leases move with it between two requests.
  std::int64_t time_of_tick() {
    std::int64_t now_us = time.read();
    DisciplinedClock& wall = time.clock();
    if (wall.is_behind_for_long()) tables.settled();  // which may begin a long update
    const std::int64_t moved_us = tables.is_free() ? wall.adopt() : 0;
    if (moved_us > 0) {
      now_us += moved_us;
      processor.move_leases(moved_us);
      if (options.journal != nullptr) options.journal->append(LeasesMovedRecord{moved_us});
      spdlog::warn(
          "the server's time follows the wall clock, which was set {:.1f} s ahead and stayed so. "
          "Leases keep the time that is left to them",
          static_cast<double>(moved_us) / 1e6);
    }
    if (const auto sentence = wall.sentence()) spdlog::warn("{}", *sentence);
    return now_us;
  }

  void wait_for_due() {
    const std::int64_t due_us = clock->next_due_us();
    timer->wait_until(due_us, [this, due_us, used_ns = process_cpu_ns()] {
      if (stopping) return;
      const std::int64_t late_us = executor.now_us() - due_us;
      // The loop only ever waits for the server's own threads. If work made it late, that work used
      // processor time.
      const bool is_stalled = process_cpu_ns() - used_ns < late_us * 1000 / 2;
      const bool begins_none = is_busy();
      const auto decision = clock->poll(executor.now_us(), time_of_tick(), begins_none);
      if (!is_log_full()) {
        metrics.overrun(decision.overruns);
        overrun_log.due(decision.begin_tau_us.has_value(), decision.overruns);
        // A tick that was due when the timer expired was skipped because another was under way.
        const std::uint64_t missed =
            decision.overruns - std::min<std::uint64_t>(decision.overruns, begins_none ? 1 : 0);
        if (is_stalled && missed > 0) overrun_log.stalled(missed, late_us);
      }
      if (const auto sentence = overrun_log.sentence(executor.now_us()))
        spdlog::warn("{}", *sentence);
      if (decision.begin_tau_us)
        begin(std::max(*decision.begin_tau_us,
                       processor.last_tau_us().value_or(*decision.begin_tau_us)),
              {}, {});
      wait_for_due();
    });
  }

  /// Sorts the lists of a result by stream, in slices, and then publishes them. Requests may change
  /// the tables between two slices, because the queries keep their slots until the tick is
  /// finished.
  void take_result(std::unique_ptr<TickResult> result) {
    arrived.push_back({executor.now_us(), std::move(result)});
    if (!is_sorting) sort_next();
  }

  void sort_next() {
    if (arrived.empty()) return;
    is_sorting = true;
    const std::int64_t arrived_us = arrived.front().at_us;
    const auto held =
        std::make_shared<std::unique_ptr<TickResult>>(std::move(arrived.front().result));
    arrived.pop_front();
    sorting.start(
        [this, held] {
          tables.settled();
          if (*held) processor.begin_finish_tick(std::move(*held));
          return processor.sort_some();
        },
        [this, arrived_us] {
          tables.when_free([this, arrived_us] {
            is_sorting = false;
            finish(arrived_us);
            if (!is_sorting) sort_next();
          });
        });
  }

  void finish(std::int64_t arrived_us) {
    auto report = std::make_shared<TickReport>(processor.end_finish_tick());
    if (options.journal != nullptr)
      options.journal->append(TickFinishedRecord{report->tick, report->error});
    UnderWay begun = std::move(under_way.front());
    under_way.pop_front();
    metrics.tick_finished(report->times, executor.ms_since(arrived_us),
                          executor.ms_since(begun.begun_us));
    overrun_log.finished(report->times, executor.ms_since(begun.begun_us));
    last_error = report->error;
    tables.growth().set_engine_bytes(report->result->engine_bytes);
    if (!report->warning.empty())
      spdlog::warn("tick {}: {}", to_number(report->tick), report->warning);
    if (!last_error.empty()) {
      if (options.journal != nullptr) options.journal->commit_now();  // its message waits for it
      metrics.tick_failed();
      spdlog::error("tick {} failed: {}", to_number(report->tick), last_error);
    }
    if (report->result->is_engine_lost)
      throw std::runtime_error("the engine is lost: " + last_error + "; start the server again");
    const TickTimeline timeline{.tick = report->tick,
                                .begun_us = begun.begun_us,
                                .arrived_us = arrived_us,
                                .stages = report->times,
                                .ends = report->result->ends};
    publish(report, timeline, std::move(begun.finished));
  }

  void publish(const std::shared_ptr<TickReport>& report, TickTimeline timeline,
               Finished finished) {
    const Journal* const journal = options.journal;
    auto plans = publisher.plan(*report, processor.queries(),
                                journal == nullptr ? 0 : journal->place_of_messages());
    const std::uint64_t published_after =
        journal == nullptr ? 0 : journal->end_of_messages(report->tick);
    timeline.sorted_us = executor.now_us();
    auto encode = [this, report, timeline, published_after, plans = std::move(plans),
                   finished = std::move(finished)]() mutable -> OrderedPool::Completion {
      timeline.encode_us = executor.now_us();
      std::shared_ptr<Encoded> encoded;
      try {
        encoded = std::make_shared<Encoded>();
        encoded->messages = encode_report(plans, *report, space, helpers);
      } catch (const std::bad_alloc&) {
        return [this, report, published_after, finished] {
          when_logged(published_after, [this, report, finished] { lose(*report, finished); });
        };
      }
      for (const protocol::TickMessage& message : encoded->messages)
        encoded->bytes += message.bytes();
      if (finished) encoded->outcome = outcome_of(*report);
      if (options.journal != nullptr)
        encoded->published = {.tick = report->tick,
                              .messages = static_cast<std::uint32_t>(encoded->messages.size()),
                              .hash = hash_of(encoded->messages)};
      encoded->report = report;
      encoded->plans = std::move(plans);
      encoded->finished = std::move(finished);
      timeline.encoded_us = executor.now_us();
      encoded->timeline = timeline;
      return [this, encoded, published_after] {
        when_logged(published_after, [this, encoded] { send(encoded); });
      };
    };
    if (is_small(*report->result, report->streams.size()))
      encoder.submit_done(encode());
    else
      encoder.submit(std::move(encode));
  }

  /// Passes the messages to the results socket in slices, because thousands of them would hold the
  /// loop.
  void send(const std::shared_ptr<Encoded>& encoded) {
    ++sending_count;
    options.publishing(encoded->plans, encoded->messages);
    sending.start(
        [this, encoded] {
          const auto rest = std::span(encoded->messages).subspan(encoded->sent);
          const auto some = rest.first(std::min(rest.size(), messages_per_step));
          results.send(some, encoded->messages.size());
          encoded->sent += some.size();
          return some.size() == rest.size();
        },
        [this, encoded] { end(*encoded); });
  }

  void end(Encoded& encoded) {
    --sending_count;
    if (options.journal != nullptr) options.journal->append(encoded.published);
    TickTimeline& timeline = encoded.timeline;
    timeline.sent_us = executor.now_us();
    const auto encode_ms = static_cast<double>(timeline.encoded_us - timeline.encode_us) / 1e3;
    const auto publish_ms = static_cast<double>(timeline.sent_us - timeline.sorted_us) / 1e3;
    metrics.tick_published(encode_ms, publish_ms, encoded.bytes);
    overrun_log.encoded(encode_ms);
    if (trace != nullptr) trace->tick(timeline);
    publisher.give_back(std::move(encoded.plans));
    *encoded.report = {};  // frees memory for the next tick, which `finished` may begin
    if (encoded.finished) encoded.finished(encoded.outcome);
    if (stopping) tell_if_idle();
  }

  /// Runs the end of a tick when the log has what the tick's messages follow from. The ends of
  /// ticks keep their order.
  void when_logged(std::uint64_t place, std::function<void()> end) {
    if (options.journal == nullptr) return end();
    ++waiting_for_log;
    options.journal->when_durable(place, [this, end = std::move(end)] {
      --waiting_for_log;
      end();
    });
  }

  /// Ends a tick whose messages found no memory. Subscribers see the gap in their numbers and ask
  /// for a snapshot.
  void lose(TickReport& report, const Finished& finished) {
    last_error = "there was no memory for the tick's messages";
    metrics.tick_failed();
    spdlog::error("tick {} failed: {}", to_number(report.tick), last_error);
    TickOutcome outcome;
    if (finished) outcome.error = last_error;
    report = {};
    if (finished) finished(outcome);
    if (stopping) tell_if_idle();
  }

  void tell_if_idle() {
    if (preparing || processor.tick_under_way() || publishing_count() > 0 || !on_idle) return;
    std::exchange(on_idle, {})();
  }

  Executor& executor;
  TickerOptions options;
  Tables& tables;
  Processor& processor;
  TickTime& time;
  const protocol::ServedSpace& space;
  Publisher& publisher;
  Results& results;
  Metrics& metrics;
  TickTrace* trace;
  std::unique_ptr<Timer> timer;
  std::optional<TickClock> clock;
  OverrunLog overrun_log;
  bool preparing = false;          ///< a tick is under way that the processor has not begun yet
  std::deque<UnderWay> under_way;  ///< sorted by tick
  std::string last_error;
  Tick last_begun{};                ///< the last tick that has begun; used with a log only
  std::size_t waiting_for_log = 0;  ///< ticks whose messages wait for the log
  bool stopping = false;
  std::function<void()> on_idle;
  std::size_t sending_count = 0;  ///< ticks whose messages are being sent
  std::shared_ptr<RecoveredResults> recovered = std::make_shared<RecoveredResults>();
  RecoveredTicks recovered_ticks{processor, recovered};
  std::deque<Arrived> arrived;  ///< sorted by tick
  bool is_sorting = false;      ///< a result is sorted, or waits to be finished
  SlicedWork sorting;           ///< sorts results, in the order of ticks
  SlicedWork sending;           ///< sends messages, in the order of ticks
  EncodeHelpers helpers;
  OrderedPool encoder;
};

Ticker::Ticker(Executor& executor, const TickerOptions& options, Tables& tables, TickTime& time,
               const protocol::ServedSpace& space, Publisher& publisher, Results& results,
               Metrics& metrics, TickTrace* trace)
    : state_(std::make_shared<State>(executor, options, tables, time, space, publisher, results,
                                     metrics, trace)) {
  // The engine may deliver a result after this ticker is destroyed, so the handler holds a weak
  // pointer. Only the loop locks the weak pointer, so no thread of the engine destroys State.
  tables.processor().engine().set_result_handler([&executor, weak = std::weak_ptr(state_),
                                                  recovered = state_->recovered](
                                                     std::unique_ptr<TickResult> result) {
    if (recovered->keep(result)) return;
    executor.post([weak, held = std::make_shared<std::unique_ptr<TickResult>>(std::move(result))] {
      if (const auto state = weak.lock()) state->take_result(std::move(*held));
    });
  });
}

Ticker::~Ticker() = default;

void Ticker::start() {
  if (state_->time.is_manual()) return;
  if (const auto last_us = state_->processor.last_tau_us())
    state_->time.clock().go_on_from(*last_us);
  state_->clock.emplace(*state_->options.period_us, state_->executor.now_us());
  state_->wait_for_due();
}

Ticker::Begun Ticker::advance(std::int64_t tau_us, const TickBegunRecord& mark, Finished finished) {
  if (state_->is_busy() || state_->stopping) return Begun::busy;
  const auto last_us = state_->processor.last_tau_us();
  if (last_us && tau_us < *last_us) return Begun::tau_too_early;
  const std::int64_t step_max_us = state_->options.tau_step_max_us;
  if (step_max_us > 0 && saturating_sub(tau_us, state_->time.step_base_us()) > step_max_us)
    return Begun::tau_too_late;
  state_->begin(tau_us, mark, std::move(finished));
  return Begun::begun;
}

std::size_t Ticker::publishing_count() const {
  return state_->publishing_count();
}

const std::string& Ticker::last_error() const {
  return state_->last_error;
}

RecoveredTicks& Ticker::recovered_ticks() {
  return state_->recovered_ticks;
}

void Ticker::stop(std::function<void()> idle) {
  state_->stopping = true;
  state_->timer->cancel();
  state_->on_idle = std::move(idle);
  state_->tell_if_idle();
}

}  // namespace starling::stream
