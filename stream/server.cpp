// SPDX-License-Identifier: Apache-2.0
// Connects the core with sockets, HTTP and signals on one loop: see server.hpp.
#include "starling/stream/server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/post.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/server_state.hpp"
#include "starling/stream/sockets/exposure.hpp"
#include "starling/stream/sockets/file_limit.hpp"

namespace starling::stream {

namespace {

constexpr std::chrono::seconds expiry_period{1};

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

}  // namespace

Server::State::State(const ServerOptions& the_options, std::unique_ptr<Engine> the_engine)
    : options(completed(the_options, the_engine->limits())),
      metrics(options),
      audit_file(options.audit_path.empty() ? nullptr
                                            : std::make_unique<AuditFile>(options.audit_path)),
      access(options.keys_path, audit_options(), !options.http_trusted_proxy.empty()),
      trace(options.trace_path.empty()
                ? nullptr
                : std::make_unique<TickTrace>(options.trace_path, options.trace_ticks_max)),
      log(std::make_unique<ServerLog>(executor, options)),
      start_signals(options.stop_on_signals ? std::make_unique<StartSignals>() : nullptr),
      stop_signals(options.stop_on_signals
                       ? std::make_unique<asio::signal_set>(loop, SIGTERM, SIGINT)
                       : nullptr),
      reload_signal(options.stop_on_signals ? std::make_unique<asio::signal_set>(loop, SIGHUP)
                                            : nullptr),
      commands(bound<CommandSocket>(options.commands_endpoint, loop, io_threads, command_options(),
                                    command_handlers())),
      results(bound<ResultsSocket>(options.results_endpoint, io_threads, results_options())),
      tls(options.tls ? std::make_unique<TlsRelay>(*options.tls, tls_limits()) : nullptr),
      http(bound<HttpServer>(options.http_host + ":" + std::to_string(options.http_port), loop,
                             http_options(), http_handlers())),
      endpoints{commands->endpoint(), results->endpoint(), http->endpoint()},
      core(set_results_endpoint(), core_parts(std::move(the_engine))),
      page(options.page_folder.empty() ? PageFiles() : PageFiles(options.page_folder)),
      api(api_parts()),
      events(event_parts()),
      views(socket_parts()),
      expiry(loop),
      insecure_warning(loop),
      alive_timer(loop),
      reloader(executor, 1) {
  recover();
  core.processor().watch_rows([this](const Staging& rows, Tick tick, std::int64_t tau_us) {
    views.take_rows(rows, tick, tau_us);
  });
  if (!options.stop_on_signals) return;
  wait_for_stop();
  wait_for_reload();
}

void Server::State::recover() {
  if (!start_signals) return core.recover([] {});
  start_signals->signals.async_wait([](const boost::system::error_code& error, int) {
    if (!error) throw StoppedAtStart("stopped before the log was read");
  });
  core.recover([this] { start_signals->loop.poll(); });
  start_signals.reset();
}

const ServerOptions& Server::State::set_results_endpoint() {
  options.results_endpoint = endpoints.results;
  return options;
}

ServerCore::Parts Server::State::core_parts(std::unique_ptr<Engine> engine) {
  return {.executor = executor,
          .engine = std::move(engine),
          .log = std::move(log),
          .results = *results,
          .metrics = metrics,
          .access = access,
          .trace = trace.get(),
          .send = [this](const Peer& peer, const protocol::Frame& frame) { send(peer, frame); },
          .gauges = [this] { return gauges(); },
          .publishing = [this](const auto& plans,
                               const auto& messages) { follow_tick(plans, messages); },
          .stopped = [this] { loop.stop(); }};
}

AuditOptions Server::State::audit_options() {
  if (audit_file == nullptr && !options.watch_audit) return {};
  return {.write =
              [this](const std::string& line) {
                if (audit_file) audit_file->write(line);
                if (options.watch_audit) options.watch_audit(line);
              },
          .lines = {.of_one = options.log_lines, .of_all = options.all_log_lines}};
}

zmtp::IoThreadRange Server::State::results_threads() const {
  if (options.io_threads == 1) return {};
  return {options.io_threads - options.results_io_threads, options.results_io_threads};
}

zmtp::IoThreadRange Server::State::commands_threads() const {
  return {0, options.io_threads == 1 ? 1 : options.io_threads - options.results_io_threads};
}

PlaceQuota Server::State::quota(std::optional<std::uint64_t> Quotas::*which) const {
  if (!access.has_keys()) return {};
  return [this, which](PrincipalId id) -> std::optional<std::uint64_t> {
    const auto principal = access.ring().principal(id);
    return principal ? principal->quotas.*which : std::nullopt;
  };
}

std::size_t Server::State::handshakes_max() const {
  constexpr std::size_t other_files = 256;  // of the log, of threads, and libraries
  const std::size_t kept = options.connections_max + options.subscribers_max +
                           3 * (options.http_connections_max + options.http_events.readers_max +
                                options.http_sockets.sockets_max) +
                           other_files;
  // A handshake takes a file on two endpoints and, with TLS, three on the third.
  constexpr std::size_t files_each = 5;
  constexpr std::size_t least = 64;
  const std::size_t spare = std::max(open_files_max(), kept) - kept;
  return std::min(options.handshakes_max, std::max(spare / files_each, least));
}

CommandSocketOptions Server::State::command_options() const {
  return {.endpoint = options.commands_endpoint,
          .reach_allowed = zmtp_reach_allowed(options),
          .message_bytes_max = options.limits.frame_bytes_max,
          .receive_bytes_max = 2 * options.decode_bytes_max,
          .peer_reply_bytes_max = options.peer_reply_bytes_max,
          .reply_bytes_max = options.reply_bytes_max,
          .principal_reply_bytes_max = quota(&Quotas::reply_bytes),
          .linger_ms = options.linger_ms,
          .io_threads = commands_threads(),
          .connections_max = options.connections_max,
          .connection_quota = quota(&Quotas::connections),
          .handshakes_max = handshakes_max(),
          .authentication = access.for_commands()};
}

CommandSocket::Handlers Server::State::command_handlers() {
  return {.request =
              [this](const Peer& peer, ReceivedBytes received, ReceivedRoom room) {
                core.intake().receive(peer, std::move(received), std::move(room));
              },
          .malformed =
              [this](const Peer& peer, ReceivedRoom room) {
                core.intake().receive_malformed(peer, std::move(room));
              }};
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
                            .connection_quota = quota(&Quotas::subscribers),
                            .handshakes_max = handshakes_max(),
                            .authentication = access.for_results()};
  if (access.has_keys())
    made.may_subscribe = [this](PrincipalId id, std::string_view topic) {
      return access.may_subscribe(id, topic);
    };
  return made;
}

void Server::State::send(const Peer& peer, const protocol::Frame& frame) {
  if (peer.in_process && peer.connection == 0) return api.replied(peer.principal, frame.bytes());
  if (peer.in_process) return views.replied(peer.connection, frame);
  const auto sent = commands->send(peer, frame);
  if (sent == CommandSocket::Sent::queued) return;
  metrics.reply_dropped();
  if (spdlog::should_log(spdlog::level::debug) && core.requests().replies().may_log(peer))
    spdlog::debug("a reply is dropped: its client {}",
                  sent == CommandSocket::Sent::peer_gone   ? "has disconnected"
                  : sent == CommandSocket::Sent::peer_full ? "does not read"
                                                           : "finds no memory here");
}

void Server::State::return_memory() {
  constexpr std::int64_t pause_us = 10'000'000;
  if (steady_now_us() - memory_returned_us < pause_us) return;
  memory_returned_us = steady_now_us();
  core.intake().work_beside(0, [] {
    malloc_trim(0);
    return [] {};
  });
}

std::string Server::State::text_of(const RequestOwner& holder) const {
  if (holder.kind == RequestOwner::Kind::principal) {
    const auto principal = access.ring().principal(principal_of(holder));
    return principal ? "\"" + principal->name + "\"" : "a former principal";
  }
  if (holder.address == PeerAddress()) return "a local socket";
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, holder.address.bytes.data(), text.data(), text.size());
  return text.data();
}

void Server::State::tell_gave_way() {
  const std::array<std::pair<const char*, Places::GaveWay>, 5> kinds{
      {{"connections-max", commands->gave_way()},
       {"subscribers-max", results->gave_way()},
       {"http-connections-max", http->requests().gave_way()},
       {"http-events-max", events.places().gave_way()},
       {"http-views-max", views.places().gave_way()}}};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto& [limit, gave_way] = kinds[kind];
    const std::uint64_t told = std::exchange(gave_way_told[kind], gave_way.count);
    if (gave_way.count > told)
      spdlog::warn(
          "{} connections gave way to other clients, because all places of {} were taken; "
          "{} had the most",
          gave_way.count - told, limit, text_of(gave_way.last));
  }
}

void Server::State::expire_later() {
  expiry.expires_after(expiry_period);
  expiry.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    core.requests().expire(steady_now_us());
    if (core.tables().growth().is_short()) return_memory();
    events.expire(steady_now_us());
    access.audit().expire();
    tell_gave_way();
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

void Server::State::wait_for_stop() {
  stop_signals->async_wait([this](const boost::system::error_code& error, int) {
    if (!error) begin_stop();
  });
}

void Server::State::wait_for_reload() {
  reload_signal->async_wait([this](const boost::system::error_code& error, int) {
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
  core.start();
  expire_later();
  warn_if_insecure();
  if (tls && !tls->warning().empty()) spdlog::warn("{}", tls->warning());
  asio::post(loop, options.alive.ready);
  tell_alive();
  turns.begin();
  while (!loop.stopped()) {
    if (loop.poll_one() == 0) {
      if (steady_now_us() - core.requests().questions().last_us() < options.question_spin_us) {
        std::this_thread::yield();
        turns.end(core.tables().waited_us());
        continue;
      }
      loop.run_one();
    }
    turn_ended(turns.end(core.tables().waited_us()));
  }
  core.end();
  access.audit().close();
}

void Server::State::turn_ended(std::int64_t turn_ns) {
  metrics.loop_turn(turn_ns);
  if (options.watch_loop_turn) options.watch_loop_turn(turn_ns);
}

void Server::State::begin_stop() {
  if (core.is_stopping()) return;
  spdlog::info("stopping: finishing the tick under way");
  options.alive.stopping();
  commands->stop_reading();
  http->close();
  events.close();
  views.close();
  core.begin_stop();
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
