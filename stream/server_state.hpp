// SPDX-License-Identifier: Apache-2.0
// The parts of a server and how they are connected. server.cpp runs them, server_http.cpp connects
// HTTP, and metric_table.cpp reads what the metrics show. No other file includes this one.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "starling/stream/access/access.hpp"
#include "starling/stream/events/event_hub.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/http/page_files.hpp"
#include "starling/stream/operation/audit_file.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/tick_trace.hpp"
#include "starling/stream/pools/asio_executor.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/server.hpp"
#include "starling/stream/server_core.hpp"
#include "starling/stream/sockets/command_socket.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/sockets/results_socket.hpp"
#include "starling/stream/state/cached_text.hpp"
#include "starling/stream/state/loop_turns.hpp"
#include "starling/stream/tls/tls_relay.hpp"
#include "starling/stream/websocket/socket_hub.hpp"
#include "starling/stream/zmtp/io_threads.hpp"

namespace starling::stream {

namespace asio = boost::asio;

struct Server::State {
  State(const ServerOptions& the_options, std::unique_ptr<Engine> engine);

  AuditOptions audit_options();
  /// The last I/O threads serve the results, and the other I/O threads serve the commands. A single
  /// I/O thread serves both.
  zmtp::IoThreadRange results_threads() const;
  zmtp::IoThreadRange commands_threads() const;
  /// Returns how much each principal may have by this quota.
  PlaceQuota quota(std::optional<std::uint64_t> Quotas::*which) const;

  /// Returns options.handshakes_max, or fewer if the system allows too few open files.
  std::size_t handshakes_max() const;
  CommandSocketOptions command_options() const;
  CommandSocket::Handlers command_handlers();
  ResultsSocketOptions results_options();
  /// Sets the endpoint that the replies to Hello name, and returns the options.
  const ServerOptions& set_results_endpoint();
  ServerCore::Parts core_parts(std::unique_ptr<Engine> engine);

  HttpOptions http_options() const;
  /// Returns limits with room for each connection over HTTP, and for connections that only pass on
  /// their last bytes.
  TlsLimits tls_limits() const;
  HttpHandlers http_handlers();
  HttpApi::Parts api_parts();
  EventHub::Parts event_parts();
  SocketHub::Parts socket_parts();
  void follow_tick(const std::vector<StreamPlan>& plans,
                   const std::vector<protocol::TickMessage>& messages);

  void send(const Peer& peer, const protocol::Frame& frame);

  Gauges gauges();

  /// Returns free memory of the process to the system, on a decode worker, at most once in ten
  /// seconds.
  void return_memory();
  std::string text_of(const RequestOwner& holder) const;
  /// Logs whose connections gave way since the last call.
  void tell_gave_way();
  void expire_later();
  /// Warns now and from time to time, if other machines can reach an endpoint.
  void warn_if_insecure();
  /// Calls options.alive.alive() once each period, to show that the loop runs its handlers, also
  /// while the server stops.
  void tell_alive();
  /// Reads the certificate and its key again. If they are bad, the old ones stay.
  void reload_tls();

  /// The signals that stop the server, while its loop does not run yet.
  struct StartSignals {
    asio::io_context loop;
    asio::signal_set signals{loop, SIGTERM, SIGINT};
  };

  void recover();
  void wait_for_stop();
  void wait_for_reload();
  /// Reads the certificate on the loop, and the keys file on a thread of its own: a large keys file
  /// takes long, and decode workers may be busy. A call meanwhile makes it read both once more.
  void reload_keys();
  /// Cuts the connections of these principals. The I/O threads already have all connections that
  /// the old keys admitted, so they cut these, too. Each request over HTTP shows its token again,
  /// so only events and WebSockets are cut there.
  void cut(const std::vector<PrincipalId>& ids);

  void run();
  void turn_ended(std::int64_t turn_ns);
  /// Requests that were read are still applied and answered. Requests that I/O threads hold are not
  /// taken any more.
  void begin_stop();

  ServerOptions options;
  asio::io_context loop{1};
  AsioExecutor executor{loop};
  zmtp::IoThreads io_threads{options.io_threads};
  Metrics metrics;
  std::unique_ptr<AuditFile> audit_file;  ///< null if the server has no --audit-log
  Access access;
  std::unique_ptr<TickTrace> trace;
  std::unique_ptr<ServerLog> log;  ///< moved into the core
  // Signals are caught before the endpoints are bound. All three are null without stop_on_signals.
  std::unique_ptr<StartSignals> start_signals;  ///< null after recover()
  std::unique_ptr<asio::signal_set> stop_signals;
  std::unique_ptr<asio::signal_set> reload_signal;
  std::unique_ptr<CommandSocket> commands;
  std::unique_ptr<ResultsSocket> results;
  std::unique_ptr<TlsRelay> tls;  ///< null: HTTP without TLS
  std::unique_ptr<HttpServer> http;
  Endpoints endpoints;
  ServerCore core;  ///< destroyed after the parts below, so decode workers must not use them
  PageFiles page;
  HttpApi api;
  EventHub events;
  SocketHub views;
  CachedText metrics_page{options.metrics_period_us, [this] { return metrics.text(gauges()); }};
  std::int64_t memory_returned_us = 0;
  std::array<std::uint64_t, 5> gave_way_told{};  ///< Places::GaveWay::count of each kind
  asio::steady_timer expiry;
  asio::steady_timer insecure_warning;
  asio::steady_timer alive_timer;
  bool is_reloading = false;   ///< the keys file is being read again
  bool reloads_again = false;  ///< reload_keys() was called meanwhile, and runs once more
  OrderedPool reloader;
  LoopTurns turns;
};

}  // namespace starling::stream
