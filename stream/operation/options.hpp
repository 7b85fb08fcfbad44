// SPDX-License-Identifier: Apache-2.0
// The options of a server, with their defaults. apps/serve.cpp fills them from flags, environment
// and file; tests set them directly. stream/operation/limit_table.hpp lists the options that are
// limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/stream/events/event_limits.hpp"
#include "starling/stream/http/recording.hpp"
#include "starling/stream/journal/journal_options.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/sockets/reach.hpp"
#include "starling/stream/state/memory_budget.hpp"
#include "starling/stream/state/name_table.hpp"
#include "starling/stream/state/page_rate.hpp"
#include "starling/stream/state/peer_buckets.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/state/snapshot_store.hpp"
#include "starling/stream/state/system_random.hpp"
#include "starling/stream/tls/tls_context.hpp"
#include "starling/stream/websocket/socket_limits.hpp"

namespace starling::stream {

struct ServerOptions {
  std::string commands_endpoint = "tcp://127.0.0.1:7411";  ///< the port * means any free port
  std::string results_endpoint = "tcp://127.0.0.1:7412";
  std::string http_host = "127.0.0.1";
  std::uint16_t http_port = 7413;  ///< 0 means any free port
  /// Path of the keys file (access/keys_file.hpp), which has the clients and their rights. Empty:
  /// every client that reaches an endpoint may do everything.
  std::string keys_path{};
  /// Path of the file that the audit log is appended to; "-" is stderr. Empty: no audit log.
  std::string audit_path{};
  /// Gets each line of the audit log, too. Must not wait. May be empty.
  std::function<void(const std::string& line)> watch_audit{};
  /// Whether other machines may reach the endpoints without keys and TLS. The log then warns every
  /// insecure_warning_us.
  bool insecure = false;
  std::int64_t insecure_warning_us = 60'000'000;  ///< time between two warnings

  /// The server replaces both hash seeds, queries.k_max, queries.owner_queries_max and threads.
  ProcessorOptions processor;
  std::optional<std::int64_t> tick_period_us = 100'000;  ///< std::nullopt: manual ticks
  /// With wall-clock ticks, tau runs with boot_now_us and is pulled towards wall_now_us: see
  /// DisciplinedClock.
  std::function<std::int64_t()> boot_now_us = starling::boot_now_us;
  std::function<std::int64_t()> wall_now_us = starling::wall_now_us;
  /// If the wall clock is set by more than a second, tau follows it only after this time.
  std::int64_t clock_step_wait_us = 60'000'000;
  /// How far an event time may be ahead of TickTime::base_us(). std::nullopt means 10 s with
  /// wall-clock ticks, and no limit with manual ticks.
  std::optional<std::int64_t> future_max_us;
  /// How far one AdvanceTick may move tau forward; 0: no limit. The first step counts from the wall
  /// clock. The default, ten years of 365 days, is longer than the gaps of recorded traces.
  std::int64_t tau_step_max_us = 3650 * std::int64_t{86'400'000'000};

  /// Makes the ids of sessions, the epoch, and the seeds of hash tables with ids that clients
  /// choose.
  std::function<std::uint64_t()> random = system_random;

  /// The folder and the limits of the log. After a restart, the server goes on with what the log
  /// has.
  JournalOptions journal{};

  protocol::Limits limits;  ///< the server takes space, dimension and metric from `processor`
  SessionLimits sessions;   ///< the server sets replies_max to limits.unanswered_max
  SnapshotLimits snapshots;
  PageRateLimits pages;
  /// How often one connection may name a session that does not belong to it. The burst answers a
  /// client that sends all its unanswered requests to a restarted server. 4,096 connections that
  /// guess for a year at ten a second try fewer than 2^41 of the 2^64 ids.
  PeerBucketLimits guesses{.burst = 1024, .interval_us = 100'000};
  /// How often a principal, or without keys an address, may send Hello.
  PeerBucketLimits hellos{.burst = 1024, .interval_us = 4000};
  NameLimits names;
  std::size_t searches_max = 64;       ///< the most GetNeighbors requests without an answer
  std::size_t connections_max = 4096;  ///< the most connections to the commands endpoint
  std::size_t subscribers_max = 4096;  ///< the most connections to the results endpoint
  /// The most unfinished handshakes of each endpoint.
  std::size_t handshakes_max = 4096;
  unsigned http_connections_max = 64;
  std::string page_folder{};  ///< folder of the files at / over HTTP; empty: there is no page
  /// The answer of /v1/network: the roads on the page's map, as JSON; null: there are no roads.
  std::shared_ptr<const std::string> network{};
  /// How many wrong tokens of one address get status 401. Further wrong tokens get 429.
  PeerBucketLimits http_wrong_tokens{.burst = 10, .interval_us = 1'000'000};
  std::int64_t metrics_period_us = 1'000'000;  ///< how long an answer of /metrics is reused
  std::optional<TlsFiles> tls{};               ///< std::nullopt: HTTP without TLS
  EventLimits http_events;
  SocketLimits http_sockets;
  std::size_t http_body_bytes_max = std::size_t{1} << 20;
  /// The most bytes of all bodies over HTTP that are read and not answered yet.
  std::size_t http_bodies_bytes_max = std::size_t{64} << 20;
  /// What is in front of the HTTP endpoint: "none", or the addresses of proxies, separated by
  /// commas (TrustedProxies). Empty: unknown; the keys file must then have no section [anonymous].
  std::string http_trusted_proxy{};
  /// Further names of this server that the Host of an HTTP request may have, without a port.
  std::vector<std::string> http_hosts{};
  /// Further origins whose pages may send changes over HTTP, such as "https://map.example.org".
  std::vector<std::string> http_origins{};
  /// The recording that is played into this server, for /v1/playback; null: no recording.
  std::shared_ptr<Recording> recording{};
  /// After a question arrives or is answered, the loop polls for work this long before it sleeps.
  /// Waking the loop takes tens of microseconds, and longer on a virtual machine. On two busy
  /// cores, the 99th percentile of the time to answer a question is 256 to 272 us with 100 us of
  /// polling, and 178 to 220 us with 500 us of polling (docs/measurements).
  std::int64_t question_spin_us = 500;

  /// Threads for requests of up to 128 KiB, and as many for longer ones, which give way. One thread
  /// decodes 100 million rows a second. On two cores, a second thread raises the 99th
  /// percentile of the time to answer a question from 180 us to 240 us.
  unsigned decode_threads = 1;
  /// The number of threads that apply updates to the table of objects together. If it is 1, the
  /// loop applies all updates. Several threads apply large groups beside the loop. 0 means one
  /// thread for each two cores, at least 1 and at most 8.
  unsigned update_threads = 0;
  /// The number of threads that read and write connections. Each thread moves about a gigabyte a
  /// second to and from the network. A connection stays with one thread.
  unsigned io_threads = 1;
  /// If there are several I/O threads, this many of them serve only the results endpoint, and the
  /// others serve the commands endpoint. Less than io_threads; 1 if there is one I/O thread.
  unsigned results_io_threads = 1;
  /// The number of threads that encode a large tick together. A tick is large if it has more than a
  /// few thousand lists. 0 means one thread for each two cores, at least 1 and at most 8.
  unsigned encode_threads = 0;
  /// The most bytes of requests that are read and not applied yet, of all sessions together. The
  /// same number of bytes again may be on their way into the server.
  std::size_t decode_bytes_max = std::size_t{256} << 20;
  std::size_t decode_requests_max = 8192;  ///< the most requests that are read and not applied

  /// The most resident memory of the process while it adds objects, queries, names, streams and
  /// snapshots. 0 means MemoryBudget::part of memory_limits.
  std::uint64_t memory_bytes_max = 0;
  MemoryLimits memory_limits = stream::memory_limits();
  std::function<MemoryUse()> memory_use = stream::memory_use;

  /// The most bytes for the vectors of all objects together. The same limit applies separately to
  /// the vectors of all queries together. In a vector space, the server lowers objects_max and
  /// queries_max to the number of vectors that fit. The limit counts each vector once, although
  /// memory holds up to four copies of an object's vector.
  std::uint64_t vector_bytes_max = std::uint64_t{4} << 30;

  /// The most bytes of messages that wait for one subscriber.
  std::size_t subscriber_bytes_max = std::size_t{64} << 20;
  /// The most messages that wait for one subscriber. A tick has one message for each stream. 0
  /// means as many as fit in subscriber_bytes_max, but at most the messages of 64 ticks.
  int subscriber_ticks_max = 0;
  /// The most topics of one connection to the results endpoint. Together they may have 64 bytes for
  /// each topic.
  std::size_t subscriber_topics_max = 4096;
  /// The most bytes of replies that wait for one client, and for all clients together.
  std::size_t peer_reply_bytes_max = std::size_t{32} << 20;
  std::size_t reply_bytes_max = std::size_t{256} << 20;
  int linger_ms = 2000;  ///< how long waiting messages may still be sent after a stop

  /// Path of the file that gets the begin and the end of each stage of the first ticks (TickTrace).
  /// Empty: no file.
  std::string trace_path;
  std::uint64_t trace_ticks_max = 1000;

  /// Returns the number of lines that the log has dropped so far, for the metrics. May be empty.
  std::function<std::uint64_t()> log_lines_dropped;
  /// How many lines of the log one principal, or one connection without a principal, may cause.
  /// Further lines are left out and counted.
  PeerBucketLimits log_lines{.burst = 20, .interval_us = 1'000'000};
  /// The same for all of them together.
  PeerBucketLimits all_log_lines{.burst = 8192, .interval_us = 50'000};

  /// How the server reports that its loop works. All functions are called on the loop.
  struct Alive {
    std::function<void()> ready = [] {};     ///< called once, when the loop begins to run
    std::function<void()> alive = [] {};     ///< called every `period_us`
    std::function<void()> stopping = [] {};  ///< called once, when the server begins to stop
    std::int64_t period_us = 0;              ///< 0: `alive` is never called
  };
  Alive alive;

  /// Gets the time of each turn of the loop, in nanoseconds (LoopTurns). May be empty.
  std::function<void(std::int64_t turn_ns)> watch_loop_turn;

  /// Whether SIGTERM and SIGINT stop the server, and SIGHUP makes it read its keys and TLS files
  /// again.
  bool stop_on_signals = false;
  std::string server_name = "starling";
};

/// Returns which machines may reach the commands and results endpoints: with keys or `insecure`,
/// all machines; else only this one.
Reach zmtp_reach_allowed(const ServerOptions& options);
/// Returns which machines may reach the HTTP endpoint: with keys and TLS, or with `insecure`, all
/// machines; else only this one. Without TLS, tokens must not cross the network.
Reach http_reach_allowed(const ServerOptions& options);

/// Returns the options that a log keeps (Journal). `options` are from completed().
KeptOptions kept_options(const ServerOptions& options);

/// Sets the options that follow from other options and from the engine's limits. Throws
/// std::invalid_argument if options contradict each other or the limits; the sentence begins with
/// the name of the flag.
ServerOptions completed(ServerOptions options, const EngineLimits& engine);

/// Returns why a Server with these options would not start on an engine with these limits: one
/// sentence for each fault that can be seen without binding an endpoint.
std::vector<std::string> faults_of(const ServerOptions& options, const EngineLimits& engine);

}  // namespace starling::stream
