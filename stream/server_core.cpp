// SPDX-License-Identifier: Apache-2.0
// Connects decode workers, requests, ticks and the log: see server_core.hpp. On a stop, each
// request that was already read is still answered, but for questions about the past.
#include "starling/stream/server_core.hpp"

#include <algorithm>
#include <future>
#include <span>
#include <thread>
#include <utility>

#include "starling/stream/recovery/make_snapshot.hpp"

namespace starling::stream {

namespace {

constexpr std::size_t decode_on_loop_bytes_max = 4096;

/// A start updates with all cores, because nothing else runs yet.
void use_all_cores(Processor& processor) {
  constexpr unsigned threads_max = 64;  // more find no work
  const unsigned cores = std::min(std::thread::hardware_concurrency(), threads_max);
  if (cores <= processor.options().threads) return;
  try {
    processor.set_threads(cores);
  } catch (const std::runtime_error&) {
    // The system has no more threads for this process, and the start takes longer.
  }
}

/// Lets the engine skip ticks.
SkippingEngine* wrapped(std::unique_ptr<Engine>& engine) {
  auto made = std::make_unique<SkippingEngine>(std::move(engine));
  SkippingEngine* const skipping = made.get();
  engine = std::move(made);
  return skipping;
}

}  // namespace

OpenedLog open_log(Executor& executor, const ServerOptions& options) {
  if (!options.journal.is_on()) return {};
  JournalOptions journal_options = options.journal;
  journal_options.wall_now_us = options.wall_now_us;
  auto journal = std::make_unique<Journal>(executor, journal_options,
                                           to_text(kept_options(options)), options.random);
  if (!journal->snapshot()) {
    journal->look_through();
    return {std::move(journal), {}};
  }
  const auto policy = options.journal.has_threads() ? std::launch::async : std::launch::deferred;
  auto reading =
      std::async(policy, [&] { return read_state(journal->files(), *journal->snapshot()).state; });
  journal->look_through();
  std::optional<LoggedState> state;
  try {
    state = reading.get();
  } catch (...) {
    journal->explain();
  }
  return {std::move(journal), std::move(state)};
}

ServerCore::ServerCore(const ServerOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      space_(options_.processor.space),
      publisher_(parts_.log.journal ? parts_.log.journal->epoch() : options_.random(),
                 options_.processor.space.space),
      credit_({options_.limits.credit_rows, options_.limits.credit_bytes}),
      skipping_(parts_.log.journal ? wrapped(parts_.engine) : nullptr),
      processor_(options_.processor, std::move(parts_.engine)),
      past_(past_reader()),
      time_(time_options(), processor_),
      tables_(parts_.executor, processor_, time_, tables_options()),
      ticker_(parts_.executor, ticker_options(), tables_, time_, space_, publisher_, parts_.results,
              parts_.metrics, parts_.trace),
      requests_(options_, caller_parts(), family_parts()),
      decoder_(parts_.executor, options_.decode_threads, decoder_rounds()) {}

std::unique_ptr<PastReader> ServerCore::past_reader() {
  const JournalOptions& journal = options_.journal;
  if (!parts_.log.journal || !journal.make_engine) return nullptr;
  return std::make_unique<PastReader>(
      parts_.executor, [&journal] { return journal.open(journal.folder, log::FolderUse::read); },
      journal.make_engine);
}

TickTimeOptions ServerCore::time_options() const {
  return {.is_manual = !options_.tick_period_us,
          .future_max_us = options_.future_max_us,
          .boot_now_us = options_.boot_now_us,
          .wall_now_us = options_.wall_now_us,
          .clock_step_wait_us = options_.clock_step_wait_us};
}

Tables::Options ServerCore::tables_options() {
  return {.memory = {.bytes_max = options_.memory_bytes_max,
                     .limits = options_.memory_limits,
                     .use = options_.memory_use},
          .names = options_.names,
          .updates = {.threads = options_.update_threads,
                      .has_log = parts_.log.journal != nullptr,
                      .applied =
                          [this](const GroupOutcome& outcome) {
                            parts_.metrics.applied(
                                static_cast<double>(outcome.until_us - outcome.since_us) / 1e3);
                            if (parts_.trace != nullptr)
                              parts_.trace->updates(outcome.since_us, outcome.until_us,
                                                    outcome.rows);
                          }},
          .has_room_again = [this] { go_on(); }};
}

TickerOptions ServerCore::ticker_options() const {
  return {.period_us = options_.tick_period_us,
          .tau_step_max_us = options_.tau_step_max_us,
          .encode_threads = options_.encode_threads,
          .journal = parts_.log.journal.get(),
          .publishing = parts_.publishing};
}

Callers::Parts ServerCore::caller_parts() {
  return {.executor = parts_.executor,
          .random = options_.random,
          .tables = tables_,
          .credit = credit_,
          .metrics = parts_.metrics,
          .audit = parts_.access.audit(),
          .journal = parts_.log.journal.get(),
          .send = parts_.send,
          .has_keys = parts_.access.has_keys()};
}

Families::Parts ServerCore::family_parts() {
  return {.executor = parts_.executor,
          .tables = tables_,
          .time = time_,
          .space = space_,
          .ticker = ticker_,
          .publisher = publisher_,
          .results = parts_.results,
          .metrics = parts_.metrics,
          .past = past_.get(),
          .gauges = parts_.gauges};
}

LoggedTables ServerCore::logged_tables() {
  return requests_.logged_tables(
      publisher_, [this](const std::string& name) { return parts_.access.ring().id_of(name); });
}

OrderedPool::Rounds ServerCore::decoder_rounds() {
  return {.may_begin = [this] { return may_change(); },
          .takes_more = [this] { return tables_.takes_more_updates(); },
          .end = [this] { tables_.updates().apply(); }};
}

void ServerCore::recover() {
  Journal* const journal = parts_.log.journal.get();
  if (journal == nullptr) return;
  LogReplay replay(logged_tables(), ticker_.recovered_ticks());
  if (options_.journal.has_threads()) use_all_cores(processor_);
  if (parts_.log.state) import_state(*std::exchange(parts_.log.state, {}), logged_tables(), replay);
  skipping_->skip_before(journal->scan().first_needed_tick());
  skipping_->skip(journal->scan().failed_ticks());
  journal->recover([&](std::span<const JournalRecord> records) { replay.apply(records); });
  replay.apply(JournalRecord(RunRecord{journal->runs()}));
  processor_.set_threads(options_.update_threads);
  requests_.end_recovery(replay);
  ticker_.recovered_ticks().end();
  journal->watch([this] {
    decoder_.go_on();
    stop_if_idle();
  });
  if (!options_.journal.make_engine) return;
  snapshots_ = std::make_unique<SnapshotMaker>(
      parts_.executor,
      SnapshotTask{.files = journal->files(),
                   .make_engine = options_.journal.make_engine,
                   .sessions = options_.sessions,
                   .keep_us = options_.journal.keep_us},
      options_.wall_now_us,
      [journal](const std::optional<log::SnapshotInfo>& made) { journal->snapshot_ended(made); });
  journal->make_snapshots([this](std::uint64_t place) { snapshots_->make(place); });
}

void ServerCore::start() {
  ticker_.start();
}

bool ServerCore::has_room() const {
  return decoding_bytes_ < options_.decode_bytes_max &&
         decoder_.waiting() < options_.decode_requests_max;
}

/// Whether a request may come that changes something.
bool ServerCore::may_change() const {
  const Journal* const journal = parts_.log.journal.get();
  return tables_.has_room() && (journal == nullptr || !journal->is_behind());
}

/// Requests that change something may come again.
void ServerCore::go_on() {
  decoder_.go_on();
  if (is_stopping_) parts_.executor.post([this] { stop_if_idle(); });
}

bool ServerCore::may_read() {
  is_reading_paused_ = !has_room();
  return !is_reading_paused_;
}

void ServerCore::refuse_malformed(const Peer& peer) {
  requests_.refuse_malformed(
      peer, "A request must be one frame, or an empty frame and one frame from a REQ socket.");
}

void ServerCore::receive(Peer peer, ReceivedBytes received) {
  if (received.bytes.size() > decode_on_loop_bytes_max) return decode(peer, std::move(received));
  PreparedRequest prepared = prepare(peer, std::move(received));
  if (!prepared.request.sequenced || (decoder_.waiting() == 0 && may_change())) {
    requests_.handle(peer, std::move(prepared));
    return tables_.updates().apply();
  }
  decoding_bytes_ += prepared.received.bytes.size();
  decoder_.submit_done(completion_of(peer, std::move(prepared)));
}

void ServerCore::decode(Peer peer, ReceivedBytes received) {
  decoding_bytes_ += received.bytes.size();
  decoder_.submit([this, peer, received = std::move(received)]() mutable {
    PreparedRequest prepared = prepare(peer, std::move(received));
    return completion_of(peer, std::move(prepared));
  });
}

PreparedRequest ServerCore::prepare(const Peer& peer, ReceivedBytes received) {
  const std::int64_t since_us = parts_.executor.now_us();
  PreparedRequest prepared = prepare_request(std::move(received), options_.limits, space_, credit_,
                                             parts_.access.ring().principal(peer.principal));
  parts_.metrics.decoded(parts_.executor.ms_since(since_us));
  return prepared;
}

OrderedPool::Completion ServerCore::completion_of(Peer peer, PreparedRequest request) {
  const auto prepared = std::make_shared<PreparedRequest>(std::move(request));
  return [this, peer, prepared] {
    decoding_bytes_ -= prepared->received.bytes.size();
    requests_.handle(peer, std::move(*prepared));
    ended();
  };
}

void ServerCore::work_beside(std::size_t bytes, std::function<std::function<void()>()> function) {
  decoding_bytes_ += bytes;
  decoder_.submit([this, bytes, function = std::move(function)]() -> OrderedPool::Completion {
    return [this, bytes, complete = function()] {
      decoding_bytes_ -= bytes;
      complete();
      ended();
    };
  });
}

void ServerCore::ended() {
  if (is_reading_paused_ && has_room()) parts_.read_on();
  stop_if_idle();
}

void ServerCore::begin_stop() {
  if (std::exchange(is_stopping_, true)) return;
  ticker_.stop([this] {
    is_ticking_done_ = true;
    stop_if_idle();
  });
  stop_if_idle();
}

void ServerCore::stop_if_idle() {
  if (!is_stopping_) return;
  Journal* const journal = parts_.log.journal.get();
  if (journal != nullptr && journal->refusal())
    return parts_.stopped();  // what waits for the disk waits for ever
  if (!is_ticking_done_ || decoder_.waiting() > 0 || !tables_.is_free()) return;
  tables_.settled();
  if (!tables_.is_free()) return;
  if (journal != nullptr && !journal->is_settled()) return journal->commit_now();
  parts_.stopped();
}

void ServerCore::end() const {
  if (parts_.log.journal) parts_.log.journal->stop();
}

}  // namespace starling::stream
