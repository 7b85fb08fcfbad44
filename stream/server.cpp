// SPDX-License-Identifier: Apache-2.0
// Connects sockets, decode workers, tables, ticks and HTTP on one loop. On a stop, each request
// that was already read is still answered. See server.hpp.
#include "starling/stream/server.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/server_state.hpp"
#include "starling/stream/sockets/exposure.hpp"
#include "starling/stream/state/system_random.hpp"

namespace starling::stream {

namespace {

constexpr std::chrono::seconds expiry_period{1};
constexpr std::size_t decode_on_loop_bytes_max = 4096;

/// Returns a new socket. If the socket's constructor throws, throws std::runtime_error with the
/// endpoint and the text of that exception.
template <class Socket, class... Arguments>
std::unique_ptr<Socket> bound(const std::string& endpoint, Arguments&&... arguments) {
  try {
    return std::make_unique<Socket>(std::forward<Arguments>(arguments)...);
  } catch (const std::exception& error) {
    throw std::runtime_error("cannot listen on " + endpoint + ": " + error.what());
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

Server::State::State(const ServerOptions& the_options, std::unique_ptr<Engine> the_engine)
    : options(completed(the_options, the_engine->limits())),
      metrics(options),
      audit_file(options.audit_path.empty() ? nullptr
                                            : std::make_unique<AuditFile>(options.audit_path)),
      access(options.keys_path, audit_options()),
      trace(options.trace_path.empty()
                ? nullptr
                : std::make_unique<TickTrace>(options.trace_path, options.trace_ticks_max)),
      space(options.processor.space),
      journal(options.journal.is_on()
                  ? std::make_unique<Journal>(loop, options.journal, to_text(kept_options(options)),
                                              system_random)
                  : nullptr),
      publisher(journal ? journal->epoch() : system_random(), options.processor.space.space),
      credit({options.limits.credit_rows, options.limits.credit_bytes}),
      skipping(journal ? wrapped(the_engine) : nullptr),
      processor(options.processor, std::move(the_engine)),
      commands(bound<CommandSocket>(options.commands_endpoint, loop, io_threads, command_options(),
                                    command_handlers())),
      results(bound<ResultsSocket>(options.results_endpoint, io_threads, results_options())),
      tls(options.tls ? std::make_unique<TlsRelay>(*options.tls, tls_limits()) : nullptr),
      http(bound<HttpServer>(options.http_host + ":" + std::to_string(options.http_port), loop,
                             http_options(), http_handlers())),
      endpoints{commands->endpoint(), results->endpoint(), http->endpoint()},
      updates(loop),
      ticker(loop, ticker_options(), processor, space, publisher, *results, metrics, trace.get()),
      handler(options, handler_parts()),
      page(options.page_folder.empty() ? PageFiles() : PageFiles(options.page_folder)),
      api(api_parts()),
      events(event_parts()),
      views(socket_parts()),
      decoder(loop, options.decode_threads,
              {.may_begin = [this] { return handler.has_room(); },
               .takes_more = [this] { return handler.takes_more_updates(); },
               .end = [this] { handler.apply_updates(); }}),
      expiry(loop),
      insecure_warning(loop),
      alive_timer(loop),
      signals(loop),
      reload_signal(loop),
      reloader(loop, 1) {
  if (journal) recover();
  processor.watch_rows([this](const Staging& rows, Tick tick, std::int64_t tau_us) {
    views.take_rows(rows, tick, tau_us);
  });
  if (!options.stop_on_signals) return;
  wait_for_signal();
  reload_signal.add(SIGHUP);
  wait_for_reload();
}

TickerOptions Server::State::ticker_options() {
  return {
      .period_us = options.tick_period_us,
      .future_max_us = options.future_max_us,
      .tau_step_max_us = options.tau_step_max_us,
      .boot_now_us = options.boot_now_us,
      .wall_now_us = options.wall_now_us,
      .clock_step_wait_us = options.clock_step_wait_us,
      .encode_threads = options.encode_threads,
      .settle = [this] { handler.settled(); },
      .prepare =
          [this](std::int64_t tau_us, std::function<void()> ready) {
            handler.prepare_tick(tau_us, std::move(ready));
          },
      .when_free = [this](std::function<void()> finish) { handler.when_free(std::move(finish)); },
      .may_move_leases = [this] { return handler.is_free(); },
      .journal = journal.get(),
      .publishing = [this](const auto& plans,
                           const auto& messages) { follow_tick(plans, messages); }};
}

void Server::State::recover() {
  LogReplay replay(handler.logged_tables(), ticker.recovered_ticks());
  if (journal->snapshot())
    import_state(read_state(journal->files(), *journal->snapshot()).state, handler.logged_tables(),
                 replay);
  skipping->skip_before(journal->scan().first_needed_tick());
  skipping->skip(journal->scan().failed_ticks());
  journal->recover([&](const JournalRecord& record) { replay.apply(record); });
  handler.end_recovery(replay);
  ticker.recovered_ticks().end();
  journal->watch([this] {
    decoder.go_on();
    stop_if_idle();
  });
  if (!options.journal.make_engine) return;
  snapshots = std::make_unique<SnapshotMaker>(
      loop, journal->files(), options.journal.make_engine, options.sessions,
      [this](const std::optional<log::SnapshotInfo>& made) { journal->snapshot_ended(made); });
  journal->make_snapshots([this](std::uint64_t place) { snapshots->make(place); });
}

AuditOptions Server::State::audit_options() {
  if (audit_file == nullptr && !options.watch_audit) return {};
  return {.write =
              [this](const std::string& line) {
                if (audit_file) audit_file->write(line);
                if (options.watch_audit) options.watch_audit(line);
              },
          .lines = options.log_lines};
}

zmtp::IoThreadRange Server::State::results_threads() const {
  if (options.io_threads == 1) return {};
  return {options.io_threads - options.results_io_threads, options.results_io_threads};
}

zmtp::IoThreadRange Server::State::commands_threads() const {
  return {0, options.io_threads == 1 ? 1 : options.io_threads - options.results_io_threads};
}

std::function<std::optional<std::uint64_t>(PrincipalId)> Server::State::reply_quotas() const {
  if (!access.has_keys()) return {};
  return [this](PrincipalId id) -> std::optional<std::uint64_t> {
    const auto principal = access.ring().principal(id);
    return principal ? principal->quotas.reply_bytes : std::nullopt;
  };
}

CommandSocketOptions Server::State::command_options() const {
  return {.endpoint = options.commands_endpoint,
          .reach_allowed = zmtp_reach_allowed(options),
          .message_bytes_max = options.limits.frame_bytes_max,
          .receive_bytes_max = options.decode_bytes_max,
          .peer_reply_bytes_max = options.peer_reply_bytes_max,
          .reply_bytes_max = options.reply_bytes_max,
          .principal_reply_bytes_max = reply_quotas(),
          .linger_ms = options.linger_ms,
          .io_threads = commands_threads(),
          .connections_max = options.connections_max,
          .authentication = access.for_commands()};
}

CommandSocket::Handlers Server::State::command_handlers() {
  return {
      .request = [this](Peer peer,
                        ReceivedBytes received) { receive(std::move(peer), std::move(received)); },
      .malformed =
          [this](const Peer& peer) {
            handler.refuse_malformed(
                peer,
                "A request must be one frame, or an empty frame and one frame from a REQ "
                "socket.");
          },
      .may_read = [this] { return may_read_or_pause(); }};
}

ResultsSocketOptions Server::State::results_options() {
  ResultsSocketOptions made{.endpoint = options.results_endpoint,
                            .reach_allowed = zmtp_reach_allowed(options),
                            .subscriber_bytes_max = options.subscriber_bytes_max,
                            .subscriber_ticks_max = options.subscriber_ticks_max,
                            .subscriber_topics_max = options.subscriber_topics_max,
                            .linger_ms = options.linger_ms,
                            .io_threads = results_threads(),
                            .connections_max = options.subscribers_max,
                            .authentication = access.for_results()};
  if (access.has_keys())
    made.may_subscribe = [this](PrincipalId id, std::string_view topic) {
      return access.may_subscribe(id, topic);
    };
  return made;
}

RequestHandler::Parts Server::State::handler_parts() {
  return {.loop = loop,
          .processor = processor,
          .updates = updates,
          .space = space,
          .ticker = ticker,
          .publisher = publisher,
          .credit = credit,
          .metrics = metrics,
          .trace = trace.get(),
          .send = [this](const Peer& peer, const protocol::Frame& frame) { send(peer, frame); },
          .gauges = [this] { return gauges(); },
          .subscription_count =
              [this](std::string_view topic) { return results->subscriber_count(topic); },
          .has_room_again =
              [this] {
                decoder.go_on();
                if (stopping) asio::post(loop, [this] { stop_if_idle(); });
              },
          .has_keys = access.has_keys(),
          .audit = access.audit(),
          .journal = journal.get(),
          .principal_id = [this](const std::string& name) { return access.ring().id_of(name); }};
}

bool Server::State::may_read() const {
  return decoding_bytes < options.decode_bytes_max &&
         decoder.waiting() < options.decode_requests_max;
}

bool Server::State::may_read_or_pause() {
  reading_paused = !may_read();
  return !reading_paused;
}

void Server::State::receive(Peer peer, ReceivedBytes received) {
  if (received.bytes.size() > decode_on_loop_bytes_max)
    return decode(std::move(peer), std::move(received));
  PreparedRequest prepared = prepare(peer, std::move(received));
  if (!prepared.request.sequenced ||
      (decoder.waiting() == 0 && handler.is_free() && !handler.is_behind())) {
    handler.handle(peer, std::move(prepared));
    return handler.apply_updates();
  }
  decoding_bytes += prepared.received.bytes.size();
  decoder.submit_done(completion_of(std::move(peer), std::move(prepared)));
}

void Server::State::decode(Peer peer, ReceivedBytes received) {
  decoding_bytes += received.bytes.size();
  decoder.submit([this, peer = std::move(peer), received = std::move(received)]() mutable {
    PreparedRequest prepared = prepare(peer, std::move(received));
    return completion_of(std::move(peer), std::move(prepared));
  });
}

void Server::State::work_beside(std::size_t bytes,
                                std::function<std::function<void()>()> function) {
  decoding_bytes += bytes;
  decoder.submit([this, bytes, function = std::move(function)]() -> OrderedPool::Completion {
    return [this, bytes, complete = function()] {
      decoding_bytes -= bytes;
      complete();
      if (reading_paused && may_read()) commands->read_on();
      stop_if_idle();
    };
  });
}

std::shared_ptr<const Principal> Server::State::principal_of(const Peer& peer) const {
  return access.ring().principal(peer.principal);
}

PreparedRequest Server::State::prepare(const Peer& peer, ReceivedBytes received) {
  const std::int64_t since_us = steady_now_us();
  PreparedRequest prepared =
      prepare_request(std::move(received), options.limits, space, credit, principal_of(peer));
  metrics.decoded(ms_since(since_us));
  return prepared;
}

OrderedPool::Completion Server::State::completion_of(Peer peer, PreparedRequest request) {
  const auto prepared = std::make_shared<PreparedRequest>(std::move(request));
  return [this, peer = std::move(peer), prepared] {
    decoding_bytes -= prepared->received.bytes.size();
    handler.handle(peer, std::move(*prepared));
    if (reading_paused && may_read()) commands->read_on();
    stop_if_idle();
  };
}

void Server::State::send(const Peer& peer, const protocol::Frame& frame) {
  if (peer.in_process && peer.connection == 0) return api.replied(peer.principal, frame.bytes());
  if (peer.in_process) return views.replied(peer.connection, frame);
  const auto sent = commands->send(peer, frame);
  if (sent == CommandSocket::Sent::queued) return;
  metrics.reply_dropped();
  if (spdlog::should_log(spdlog::level::debug) && handler.may_log(peer))
    spdlog::debug("a reply is dropped: its client {}",
                  sent == CommandSocket::Sent::peer_gone   ? "has disconnected"
                  : sent == CommandSocket::Sent::peer_full ? "does not read"
                                                           : "finds no memory here");
}

void Server::State::return_memory() {
  constexpr std::int64_t pause_us = 10'000'000;
  if (steady_now_us() - memory_returned_us < pause_us) return;
  memory_returned_us = steady_now_us();
  work_beside(0, [] {
    malloc_trim(0);
    return [] {};
  });
}

void Server::State::expire_later() {
  expiry.expires_after(expiry_period);
  expiry.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    handler.expire(steady_now_us());
    if (handler.is_memory_short()) return_memory();
    events.expire(steady_now_us());
    access.audit().expire();
    expire_later();
  });
}

void Server::State::warn_if_insecure() {
  const std::string warning = exposure_warning({.commands = endpoints.commands,
                                                .results = endpoints.results,
                                                .http = endpoints.http,
                                                .has_keys = access.has_keys(),
                                                .has_tls = tls != nullptr});
  if (warning.empty()) return;
  spdlog::warn("{}", warning);
  insecure_warning.expires_after(std::chrono::microseconds(options.insecure_warning_us));
  insecure_warning.async_wait([this](const boost::system::error_code& error) {
    if (!error) warn_if_insecure();
  });
}

void Server::State::tell_alive() {
  if (options.alive.period_us == 0) return;
  alive_timer.expires_after(std::chrono::microseconds(options.alive.period_us));
  alive_timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    options.alive.alive();
    tell_alive();
  });
}

void Server::State::reload_tls() {
  if (tls == nullptr) return;
  try {
    const std::string warning = tls->reload();
    spdlog::info("the certificate of {} is read again", options.tls->certificate);
    if (!warning.empty()) spdlog::warn("{}", warning);
  } catch (const std::exception& error) {
    spdlog::error("the old certificate stays: {}", error.what());
  }
}

void Server::State::wait_for_signal() {
  signals.add(SIGTERM);
  signals.add(SIGINT);
  signals.async_wait([this](const boost::system::error_code& error, int) {
    if (!error) begin_stop();
  });
}

void Server::State::wait_for_reload() {
  reload_signal.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    reload_keys();
    wait_for_reload();
  });
}

void Server::State::reload_keys() {
  if (is_reloading) {
    reloads_again = true;
    return;
  }
  is_reloading = true;
  reload_tls();
  reloader.submit([this] {
    return [this, ids = access.reload()] {
      cut(ids);
      is_reloading = false;
      if (std::exchange(reloads_again, false)) reload_keys();
    };
  });
}

void Server::State::cut(const std::vector<PrincipalId>& ids) {
  if (ids.empty()) return;
  const auto is_revoked = [ids](PrincipalId id) { return std::ranges::find(ids, id) != ids.end(); };
  commands->cut(is_revoked);
  results->cut(is_revoked);
  events.cut(is_revoked);
  views.cut(is_revoked);
}

void Server::State::run() {
  ticker.start();
  expire_later();
  warn_if_insecure();
  if (tls && !tls->warning().empty()) spdlog::warn("{}", tls->warning());
  asio::post(loop, options.alive.ready);
  tell_alive();
  turns.begin();
  while (!loop.stopped()) {
    if (loop.poll_one() == 0) {
      if (steady_now_us() - handler.last_question_us() < options.question_spin_us) {
        std::this_thread::yield();
        turns.end(updates.waited_us());
        continue;
      }
      loop.run_one();
    }
    turn_ended(turns.end(updates.waited_us()));
  }
  if (journal) journal->stop();
}

void Server::State::turn_ended(std::int64_t turn_ns) {
  metrics.loop_turn(turn_ns);
  if (options.watch_loop_turn) options.watch_loop_turn(turn_ns);
}

void Server::State::begin_stop() {
  if (std::exchange(stopping, true)) return;
  spdlog::info("stopping: finishing the tick under way");
  options.alive.stopping();
  commands->stop_reading();
  http->close();
  events.close();
  views.close();
  ticker.stop([this] {
    ticks_done = true;
    stop_if_idle();
  });
  stop_if_idle();
}

void Server::State::stop_if_idle() {
  if (!stopping) return;
  if (journal && journal->refusal()) return loop.stop();  // what waits for the disk waits for ever
  if (!ticks_done || decoder.waiting() > 0 || !handler.is_free()) return;
  handler.settled();
  if (!handler.is_free()) return;
  if (journal && !journal->is_settled()) return journal->commit_now();
  loop.stop();
}
Server::Server(const ServerOptions& options, std::unique_ptr<Engine> engine)
    : state_(std::make_unique<State>(options, std::move(engine))) {}

Server::~Server() = default;

const Endpoints& Server::endpoints() const {
  return state_->endpoints;
}

void Server::run() {
  state_->run();
}

void Server::reload_keys() {
  asio::post(state_->loop, [state = state_.get()] { state->reload_keys(); });
}

void Server::stop() {
  asio::post(state_->loop, [state = state_.get()] { state->begin_stop(); });
}

}  // namespace starling::stream
