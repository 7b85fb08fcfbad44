// SPDX-License-Identifier: Apache-2.0
// Connects sockets, decode workers, tables, ticks and HTTP on one loop. On a stop, each request
// that was already read is still answered. See server.hpp.
#include "starling/stream/server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/access/access.hpp"
#include "starling/stream/audit_file.hpp"
#include "starling/stream/events/event_hub.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/json/problem.hpp"
#include "starling/stream/metrics.hpp"
#include "starling/stream/page/page_files.hpp"
#include "starling/stream/pools/beside_loop.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/publisher.hpp"
#include "starling/stream/request_handler.hpp"
#include "starling/stream/sockets/command_socket.hpp"
#include "starling/stream/sockets/exposure.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/sockets/reach.hpp"
#include "starling/stream/sockets/results_socket.hpp"
#include "starling/stream/state/cached_text.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/loop_turns.hpp"
#include "starling/stream/state/system_random.hpp"
#include "starling/stream/ticker.hpp"
#include "starling/stream/tls/tls_relay.hpp"
#include "starling/stream/websocket/socket_hub.hpp"
#include "starling/stream/zmtp/io_threads.hpp"

namespace starling::stream {

namespace asio = boost::asio;

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

}  // namespace

struct Server::State {
  State(const ServerOptions& the_options, std::unique_ptr<Engine> engine)
      : options(completed(the_options, engine->limits())),
        metrics(options),
        audit_file(options.audit_path.empty() ? nullptr
                                              : std::make_unique<AuditFile>(options.audit_path)),
        access(options.keys_path, audit_options()),
        trace(options.trace_path.empty()
                  ? nullptr
                  : std::make_unique<TickTrace>(options.trace_path, options.trace_ticks_max)),
        space(options.processor.space),
        publisher(system_random(), options.processor.space.space),
        credit({options.limits.credit_rows, options.limits.credit_bytes}),
        processor(options.processor, std::move(engine)),
        commands(bound<CommandSocket>(options.commands_endpoint, loop, io_threads,
                                      command_options(), command_handlers())),
        results(bound<ResultsSocket>(options.results_endpoint, io_threads, results_options())),
        tls(options.tls ? std::make_unique<TlsRelay>(*options.tls, tls_limits()) : nullptr),
        http(bound<HttpServer>(options.http_host + ":" + std::to_string(options.http_port), loop,
                               http_options(), http_handlers())),
        endpoints{commands->endpoint(), results->endpoint(), http->endpoint()},
        updates(loop),
        ticker(loop,
               {.period_us = options.tick_period_us,
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
                .publishing = [this](const auto& plans,
                                     const auto& messages) { follow_tick(plans, messages); }},
               processor, space, publisher, *results, metrics, trace.get()),
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
    processor.watch_rows([this](const Staging& rows, Tick tick, std::int64_t tau_us) {
      views.take_rows(rows, tick, tau_us);
    });
    if (!options.stop_on_signals) return;
    wait_for_signal();
    reload_signal.add(SIGHUP);
    wait_for_reload();
  }

  AuditOptions audit_options() {
    if (audit_file == nullptr && !options.watch_audit) return {};
    return {.write =
                [this](const std::string& line) {
                  if (audit_file) audit_file->write(line);
                  if (options.watch_audit) options.watch_audit(line);
                },
            .lines = options.log_lines};
  }

  // The last threads serve the results, the others the commands. A single thread serves both.
  zmtp::IoThreadRange results_threads() const {
    if (options.io_threads == 1) return {};
    return {options.io_threads - options.results_io_threads, options.results_io_threads};
  }
  zmtp::IoThreadRange commands_threads() const {
    return {0, options.io_threads == 1 ? 1 : options.io_threads - options.results_io_threads};
  }
  std::function<std::optional<std::uint64_t>(PrincipalId)> reply_quotas() const {
    if (!access.has_keys()) return {};
    return [this](PrincipalId id) -> std::optional<std::uint64_t> {
      const auto principal = access.ring().principal(id);
      return principal ? principal->quotas.reply_bytes : std::nullopt;
    };
  }
  CommandSocketOptions command_options() const {
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
  CommandSocket::Handlers command_handlers() {
    return {.request =
                [this](Peer peer, ReceivedBytes received) {
                  receive(std::move(peer), std::move(received));
                },
            .malformed =
                [this](const Peer& peer) {
                  handler.refuse_malformed(
                      peer,
                      "A request must be one frame, or an empty frame and one frame from a REQ "
                      "socket.");
                },
            .may_read = [this] { return may_read_or_pause(); }};
  }
  ResultsSocketOptions results_options() {
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
  RequestHandler::Parts handler_parts() {
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
            .audit = access.audit()};
  }

  HttpOptions http_options() const {
    return {.host = options.http_host,
            .port = options.http_port,
            .reach_allowed = http_reach_allowed(options),
            .connections_max = options.http_connections_max,
            .body_bytes_max = options.http_body_bytes_max,
            .secure = tls == nullptr ? SecureConnection() : [this](asio::ip::tcp::socket socket) {
              return tls->secured(std::move(socket));
            }};
  }
  /// Each connection over HTTP has a place, and so have some whose last bytes are on their way.
  TlsLimits tls_limits() const {
    return {.connections_max = 2 * std::size_t{options.http_connections_max} +
                               options.http_events.readers_max + options.http_sockets.sockets_max};
  }
  HttpHandlers http_handlers() {
    return {.admit = [this](HttpHead& head) { return api.admit(head); },
            .handle =
                [this](HttpRequest request, HttpRespond respond) {
                  api.handle(std::move(request), std::move(respond));
                },
            .refuse = [](unsigned status,
                         std::string_view sentence) { return problem_answer(status, sentence); },
            .answered = [this](unsigned status) { metrics.http_answered(status); },
            .timed_out = [this] { metrics.http_timed_out(); }};
  }
  HttpApi::Parts api_parts() {
    return {.loop = loop,
            .limits = options.limits,
            .gatekeeper = {.hosts = options.http_hosts, .origins = options.http_origins},
            .tokens = {.access = &access, .wrong_tokens = options.http_wrong_tokens},
            .deliver =
                [this](Peer peer, ReceivedBytes received) {
                  receive(std::move(peer), std::move(received));
                },
            .work = [this](std::size_t bytes,
                           auto function) { work_beside(bytes, std::move(function)); },
            .base_time_us = [this] { return ticker.base_time_us(); },
            .name_of = [this](ObjectId id) { return handler.names().find(id); },
            .lists =
                [this](ListsQuestion question, HttpRespond respond) {
                  events.get_lists(std::move(question), std::move(respond));
                },
            .events =
                [this](EventsQuestion question, HttpRespond respond) {
                  events.get_events(std::move(question), std::move(respond));
                },
            .socket = [this](const HttpHead& head,
                             const HttpRespond& respond) { views.open(head, respond); },
            .page = [this](const HttpHead& head) { return page.answer(head); },
            .metrics = [this] { return metrics_page.at(steady_now_us()); },
            .last_error = [this] { return ticker.last_error(); },
            .recording = options.recording,
            .network = options.network};
  }

  EventHub::Parts event_parts() {
    return {
        .loop = loop,
        .limits = options.http_events,
        .space = options.processor.space.space,
        .epoch = publisher.epoch(),
        .send =
            [this](zmtp::PrincipalId principal, WireGateway::Make make, WireGateway::Take take) {
              api.gateway(principal).send(std::move(make), std::move(take));
            },
        .reply_owner = [this] { return api.reply_owner(); },
        .fault_of_stream =
            [this](std::string_view stream) { return handler.fault_of_stream(stream); },
        .name_of = [this](ObjectId id) { return handler.names().find_beside(id); }};
  }

  SocketHub::Parts socket_parts() {
    return {.loop = loop,
            .limits = options.http_sockets,
            .space = options.processor.space,
            .epoch = publisher.epoch(),
            .deliver =
                [this](Peer peer, ReceivedBytes received) {
                  receive(std::move(peer), std::move(received));
                },
            .fault_of_stream =
                [this](std::string_view stream) { return handler.fault_of_stream(stream); },
            .refusal_of =
                [this](std::uint64_t reader, zmtp::PrincipalId principal,
                       const protocol::SocketBody& body) {
                  return access.refusal_of(principal, body, reader);
                },
            .name_of = [this](ObjectId id) { return handler.names().find_beside(id); },
            .is_free = [this] { return !updates.is_busy(); },
            .objects = [this]() -> const ObjectTable& { return handler.settled().objects(); }};
  }

  void follow_tick(const std::vector<StreamPlan>& plans,
                   const std::vector<protocol::TickMessage>& messages) {
    if (events.is_following())
      for (std::size_t i = 0; i < plans.size(); ++i)
        events.publish(plans[i].stream, plans[i].header, messages[i]);
    if (views.is_following())
      for (std::size_t i = 0; i < plans.size(); ++i)
        views.publish(plans[i].stream, plans[i].header, messages[i]);
    views.show();
  }

  bool may_read() const {
    return decoding_bytes < options.decode_bytes_max &&
           decoder.waiting() < options.decode_requests_max;
  }
  bool may_read_or_pause() {
    reading_paused = !may_read();
    return !reading_paused;
  }

  // Decoding a short request costs less than handing it to a worker. A short request that changes
  // nothing does not wait for earlier batches, even if they are of the same session.
  void receive(Peer peer, ReceivedBytes received) {
    if (received.bytes.size() > decode_on_loop_bytes_max)
      return decode(std::move(peer), std::move(received));
    PreparedRequest prepared = prepare(peer, std::move(received));
    if (!prepared.request.sequenced || (decoder.waiting() == 0 && handler.is_free())) {
      handler.handle(peer, std::move(prepared));
      return handler.apply_updates();
    }
    decoding_bytes += prepared.received.bytes.size();
    decoder.submit_done(completion_of(std::move(peer), std::move(prepared)));
  }

  void decode(Peer peer, ReceivedBytes received) {
    decoding_bytes += received.bytes.size();
    decoder.submit([this, peer = std::move(peer), received = std::move(received)]() mutable {
      PreparedRequest prepared = prepare(peer, std::move(received));
      return completion_of(std::move(peer), std::move(prepared));
    });
  }

  /// Runs `function` on a decode worker, and what it returns on the loop.
  void work_beside(std::size_t bytes, std::function<std::function<void()>()> function) {
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

  std::shared_ptr<const Principal> principal_of(const Peer& peer) const {
    return access.ring().principal(peer.principal);
  }

  PreparedRequest prepare(const Peer& peer, ReceivedBytes received) {
    const std::int64_t since_us = steady_now_us();
    PreparedRequest prepared =
        prepare_request(std::move(received), options.limits, space, credit, principal_of(peer));
    metrics.decoded(ms_since(since_us));
    return prepared;
  }

  OrderedPool::Completion completion_of(Peer peer, PreparedRequest request) {
    const auto prepared = std::make_shared<PreparedRequest>(std::move(request));
    return [this, peer = std::move(peer), prepared] {
      decoding_bytes -= prepared->received.bytes.size();
      handler.handle(peer, std::move(*prepared));
      if (reading_paused && may_read()) commands->read_on();
      stop_if_idle();
    };
  }

  void send(const Peer& peer, const protocol::Frame& frame) {
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

  std::array<double, zmtp::fault_count> cut_counts() const {
    std::array<double, zmtp::fault_count> counts{};
    for (std::size_t index = 0; index < counts.size(); ++index) {
      const auto fault = static_cast<zmtp::Fault>(index);
      counts[index] =
          static_cast<double>(commands->faults().of(fault) + results->faults().of(fault));
    }
    return counts;
  }

  Gauges gauges() {
    handler.settled();
    const auto number = [](auto count) { return static_cast<double>(count); };
    const QueryTable& queries = processor.queries();
    const Credit most_credit = credit.most_taken();
    const SessionTaken most_taken = handler.sessions().most_taken();
    const std::uint64_t log_lines_dropped =
        options.log_lines_dropped ? options.log_lines_dropped() : 0;
    return {.sessions = number(handler.sessions().count()),
            .connections = number(commands->connection_count()),
            .subscribers = number(results->connection_count()),
            .http_connections = number(http->connection_count()),
            .http_event_readers = number(events.reader_count()),
            .http_events = number(events.counts().sent.load()),
            .http_events_dropped = number(events.counts().dropped.load()),
            .http_event_gaps = number(events.counts().gaps.load()),
            .http_event_readers_stalled = number(events.counts().stalled.load()),
            .http_sockets = number(views.counts().sockets.load()),
            .http_views = number(views.counts().views.load()),
            .recording = options.recording ? 1.0 : 0.0,
            .http_socket_messages = number(views.counts().messages.load()),
            .http_socket_bytes = number(views.counts().bytes.load()),
            .http_socket_lost_ticks = number(views.counts().lost_ticks.load()),
            .http_socket_broken_rules = number(views.counts().broken_rules.load()),
            .http_sockets_stalled = number(views.counts().stalled.load()),
            .connections_refused = number(commands->refused_count() + results->refused_count() +
                                          http->refused_count()),
            .log_lines_dropped = number(log_lines_dropped),
            .audit_lines_missing =
                number(access.audit().left_out() + (audit_file ? audit_file->dropped() : 0)),
            .http_tokens_refused = number(api.refused_count()),
            .tls_handshakes = number(tls ? tls->counts().handshakes.load() : 0),
            .tls_handshakes_failed = number(tls ? tls->counts().failed.load() : 0),
            .tls_stalled = number(tls ? tls->counts().stalled.load() : 0),
            .memory_bytes = number(memory_use().resident),
            .clock_steps = number(ticker.clock_steps()),
            .clock_offset_s = ticker.clock_offset_s(),
            .subscriptions = number(results->subscriber_count()),
            .joins = number(results->join_count()),
            .objects = number(processor.objects().alive_count()),
            .objects_known = number(processor.objects().known_count()),
            .queries = number(queries.query_count()),
            .neighbors = number(queries.neighbor_count(processor.objects())),
            .streams = number(queries.stream_count()),
            .names = number(handler.names().count()),
            .name_bytes = number(handler.names().bytes()),
            .snapshots = number(handler.snapshots().count()),
            .snapshot_bytes = number(handler.snapshots().bytes()),
            .decoding_requests = number(decoder.waiting()),
            .decoding_bytes = number(decoding_bytes),
            .searches = number(handler.searches_under_way()),
            .publishing_ticks = number(ticker.publishing_count()),
            .subscriber_bytes = number(results->waiting_bytes()),
            .subscriber_messages_dropped = number(results->dropped_count()),
            .reply_bytes = number(commands->reply_bytes()),
            .connections_cut = cut_counts(),
            .engine_bytes = number(ticker.engine_bytes()),
            .session_credit_rows = number(most_credit.rows),
            .session_credit_bytes = number(most_credit.bytes),
            .session_queries = number(queries.owner_query_count_most()),
            .session_streams = number(most_taken.streams),
            .session_names = number(most_taken.names),
            .session_snapshots = number(handler.snapshots().most_held()),
            .connection_sessions = number(handler.sessions().most_of_connection())};
  }

  /// Gives memory that is free in the process back to the system, beside the loop and not often.
  void return_memory() {
    constexpr std::int64_t pause_us = 10'000'000;
    if (steady_now_us() - memory_returned_us < pause_us) return;
    memory_returned_us = steady_now_us();
    work_beside(0, [] {
      malloc_trim(0);
      return [] {};
    });
  }

  void expire_later() {
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

  /// Warns now and from time to time, if other machines can reach an endpoint.
  void warn_if_insecure() {
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

  /// Tells again and again that the loop runs its handlers, also while the server stops.
  void tell_alive() {
    if (options.alive.period_us == 0) return;
    alive_timer.expires_after(std::chrono::microseconds(options.alive.period_us));
    alive_timer.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      options.alive.alive();
      tell_alive();
    });
  }

  /// Reads the certificate and its key again. If they are bad, the old ones stay.
  void reload_tls() {
    if (tls == nullptr) return;
    try {
      const std::string warning = tls->reload();
      spdlog::info("the certificate of {} is read again", options.tls->certificate);
      if (!warning.empty()) spdlog::warn("{}", warning);
    } catch (const std::exception& error) {
      spdlog::error("the old certificate stays: {}", error.what());
    }
  }

  void wait_for_signal() {
    signals.add(SIGTERM);
    signals.add(SIGINT);
    signals.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) begin_stop();
    });
  }

  void wait_for_reload() {
    reload_signal.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      reload_keys();
      wait_for_reload();
    });
  }

  /// Reads the keys file beside the loop, because a large one takes long, and not behind requests
  /// that wait. If a signal comes meanwhile, reads it once more.
  void reload_keys() {
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

  /// Whoever was let in before the reload is with the I/O threads already, which cut next. Each
  /// request over HTTP shows its token again, so only events and WebSockets are cut there.
  void cut(const std::vector<PrincipalId>& ids) {
    if (ids.empty()) return;
    const auto is_revoked = [ids](PrincipalId id) {
      return std::ranges::find(ids, id) != ids.end();
    };
    commands->cut(is_revoked);
    results->cut(is_revoked);
    events.cut(is_revoked);
    views.cut(is_revoked);
  }

  void run() {
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
  }

  void turn_ended(std::int64_t turn_ns) {
    metrics.loop_turn(turn_ns);
    if (options.watch_loop_turn) options.watch_loop_turn(turn_ns);
  }

  // Requests that were read are still applied and answered. Requests that I/O threads hold are not
  // taken any more.
  void begin_stop() {
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
  }

  void stop_if_idle() {
    if (!stopping || !ticks_done || decoder.waiting() > 0 || !handler.is_free()) return;
    handler.settled();
    if (!handler.is_free()) return;
    loop.stop();
  }

  ServerOptions options;
  asio::io_context loop{1};
  zmtp::IoThreads io_threads{options.io_threads};
  Metrics metrics;
  std::unique_ptr<AuditFile> audit_file;  ///< null: there is none
  Access access;
  std::unique_ptr<TickTrace> trace;
  protocol::ServedSpace space;
  Publisher publisher;
  CreditLedger credit;
  Processor processor;
  std::unique_ptr<CommandSocket> commands;
  std::unique_ptr<ResultsSocket> results;
  std::unique_ptr<TlsRelay> tls;  ///< null: HTTP without TLS
  std::unique_ptr<HttpServer> http;
  Endpoints endpoints;
  BesideLoop updates;
  Ticker ticker;
  RequestHandler handler;
  PageFiles page;
  HttpApi api;
  EventHub events;
  SocketHub views;
  CachedText metrics_page{options.metrics_period_us, [this] { return metrics.text(gauges()); }};
  OrderedPool decoder;
  std::size_t decoding_bytes = 0;
  bool reading_paused = false;
  std::int64_t memory_returned_us = 0;
  asio::steady_timer expiry;
  asio::steady_timer insecure_warning;
  asio::steady_timer alive_timer;
  asio::signal_set signals;
  asio::signal_set reload_signal;
  bool is_reloading = false;   ///< the keys file is being read again
  bool reloads_again = false;  ///< once that has ended
  OrderedPool reloader;
  LoopTurns turns;
  bool stopping = false;
  bool ticks_done = false;
};

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
