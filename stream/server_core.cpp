// SPDX-License-Identifier: Apache-2.0
// Connects decode workers, requests, ticks and the log: see server_core.hpp. On a stop, each
// request that was already read is still answered, except questions about the past.
#include "starling/stream/server_core.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace starling::stream {

namespace {

/// Lets recovery update objects on all cores, because nothing else runs yet.
void use_all_cores(Processor& processor) {
  constexpr unsigned threads_max = 64;  // more threads find no work
  const unsigned cores = std::min(std::thread::hardware_concurrency(), threads_max);
  if (cores <= processor.options().threads) return;
  try {
    processor.set_threads(cores);
  } catch (const std::runtime_error&) {
    // The system has no more threads for this process, and the start takes longer.
  }
}

}  // namespace

ServerCore::ServerCore(const ServerOptions& options, Parts parts)
    : options_(options),
      executor_(parts.executor),
      access_(parts.access),
      log_(std::move(parts.log)),
      publisher_(journal() != nullptr ? journal()->found().epoch() : options.random(),
                 options.processor.space.space),
      tables_(executor_, options.processor, log_->skipping(std::move(parts.engine)),
              tables_options(parts)),
      ticker_(executor_, ticker_options(parts), tables_, publisher_, parts.results, parts.metrics,
              parts.trace),
      requests_(options, caller_parts(parts), family_parts(parts)),
      intake_(options, intake_parts(parts)),
      stopped_(std::move(parts.stopped)) {}

Tables::Options ServerCore::tables_options(const Parts& parts) {
  return {
      .memory = {.bytes_max = options_.memory_bytes_max,
                 .limits = options_.memory_limits,
                 .use = options_.memory_use},
      .names = options_.names,
      .time = {.is_manual = !options_.tick_period_us,
               .future_max_us = options_.future_max_us,
               .boot_now_us = options_.boot_now_us,
               .wall_now_us = options_.wall_now_us,
               .clock_step_wait_us = options_.clock_step_wait_us},
      .updates = {.threads = options_.update_threads,
                  .has_log = journal() != nullptr,
                  .applied =
                      [&metrics = parts.metrics, trace = parts.trace](const GroupOutcome& outcome) {
                        metrics.applied(static_cast<double>(outcome.until_us - outcome.since_us) /
                                        1e3);
                        if (trace != nullptr)
                          trace->updates(outcome.since_us, outcome.until_us, outcome.rows);
                      }},
      .outgrown = outgrown_options(),
      .has_room_again = [this] { go_on(); }};
}

/// Without keys, queries belong to sessions, which have no quota of neighbours.
OutgrownQueries::Options ServerCore::outgrown_options() {
  if (!access_.has_keys()) return {};
  const auto principal = [this](std::uint64_t owner) {
    return access_.ring().principal(static_cast<PrincipalId>(owner));
  };
  return {.quotas = [principal](std::uint64_t owner) -> std::optional<std::uint64_t> {
            const auto known = principal(owner);
            return known ? known->quotas.neighbors : std::nullopt;
          },
          .owner_text = [principal](std::uint64_t owner) -> std::string {
            const auto known = principal(owner);
            return known ? known->name : "a principal that is no longer in the keys file";
          }};
}

TickerOptions ServerCore::ticker_options(const Parts& parts) const {
  return {.period_us = options_.tick_period_us,
          .tau_step_max_us = options_.tau_step_max_us,
          .encode_threads = options_.encode_threads,
          .journal = journal(),
          .publishing = parts.publishing};
}

Callers::Parts ServerCore::caller_parts(Parts& parts) {
  return {.executor = executor_,
          .random = options_.random,
          .tables = tables_,
          .metrics = parts.metrics,
          .audit = access_.audit(),
          .journal = journal(),
          .send = std::move(parts.send),
          .has_keys = access_.has_keys()};
}

Families::Parts ServerCore::family_parts(Parts& parts) {
  return {.executor = executor_,
          .tables = tables_,
          .ticker = ticker_,
          .publisher = publisher_,
          .results = parts.results,
          .metrics = parts.metrics,
          .past = log_->past(),
          .gauges = std::move(parts.gauges)};
}

RequestIntake::Parts ServerCore::intake_parts(Parts& parts) {
  return {.executor = executor_,
          .access = access_,
          .metrics = parts.metrics,
          .requests = requests_,
          .tables = tables_,
          .journal = journal(),
          .ended = [this] { stop_if_idle(); }};
}

LoggedTables ServerCore::logged_tables() {
  return requests_.logged_tables(
      publisher_, [this](const std::string& name) { return access_.ring().id_of(name); });
}

void ServerCore::recover(const std::function<void()>& check_stop) {
  if (journal() == nullptr) return;
  LogReplay replay(logged_tables(), ticker_.recovered_ticks());
  if (options_.journal.has_threads()) use_all_cores(processor());
  log_->recover(
      logged_tables(), replay, [this] { return tables_.growth().recover_lists(); }, check_stop);
  processor().set_threads(options_.update_threads);
  requests_.end_recovery(replay, log_->lacks_lists());
  log_->end_recovery();
  tables_.growth().end_recovery();
  ticker_.recovered_ticks().end();
  journal()->commits().watch([this] {
    intake_.go_on();
    stop_if_idle();
  });
  log_->make_snapshots();
}

void ServerCore::start() {
  ticker_.start();
}

/// Called when requests that change something may be handled again.
void ServerCore::go_on() {
  intake_.go_on();
  if (is_stopping_) executor_.post([this] { stop_if_idle(); });
}

void ServerCore::begin_stop() {
  if (std::exchange(is_stopping_, true)) return;
  intake_.stop();
  ticker_.stop([this] {
    is_ticking_done_ = true;
    stop_if_idle();
  });
  stop_if_idle();
}

void ServerCore::stop_if_idle() {
  if (!is_stopping_) return;
  if (journal() != nullptr && journal()->commits().is_full())
    return stopped_();  // records that wait for a full disk would wait for ever
  if (!is_ticking_done_ || intake_.waiting() > 0 || !tables_.is_free()) return;
  tables_.settled();
  if (!tables_.is_free()) return;
  if (journal() != nullptr && !journal()->commits().is_settled())
    return journal()->commits().commit_now();
  stopped_();
}

void ServerCore::end() const {
  if (journal() != nullptr) journal()->commits().stop();
}

}  // namespace starling::stream
