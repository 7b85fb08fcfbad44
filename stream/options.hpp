// Everything that a server may be told, with its defaults. apps/serve.cpp fills it from flags,
// environment and file; tests by hand. Its limits are the rows of stream/limit_table.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "starling/knn/base/clocks.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/stream/state/name_table.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/state/snapshot_store.hpp"

namespace starling::stream {

struct ServerOptions {
  std::string commands_endpoint = "tcp://127.0.0.1:7411";  ///< ":*" as port: the system chooses
  std::string results_endpoint = "tcp://127.0.0.1:7412";
  std::string http_host = "127.0.0.1";
  std::uint16_t http_port = 7413;  ///< 0: the system chooses

  ProcessorOptions processor;  ///< its hash seed is the server's own choice
  std::optional<std::int64_t> tick_period_us = 100'000;  ///< none: ticks by AdvanceTick
  std::function<std::int64_t()> wall_now_us = starling::wall_now_us;  ///< what tau follows
  /// How far beyond tau an event time may lie; none: 10 s by the wall clock, any on request.
  std::optional<std::int64_t> future_max_us;

  protocol::Limits limits;  ///< its space is taken from `processor`
  SessionLimits sessions;
  SnapshotLimits snapshots;
  NameLimits names;
  std::size_t searches_max = 64;       ///< one-shot requests with the engine at a time
  std::size_t connections_max = 4096;  ///< to the commands endpoint
  std::size_t subscribers_max = 4096;  ///< connections to the results endpoint
  unsigned http_connections_max = 64;
  /// After a question comes or is answered, how long the loop looks for work before it sleeps: to
  /// wake it takes tens of microseconds, more on a virtual machine. 100 us made the 99th percentile
  /// of questions 256 to 272 us on two busy cores, 500 us 178 to 220 (docs/measurements).
  std::int64_t question_spin_us = 500;

  /// One decodes 100 million rows a second, five times what the loop takes; on two cores a second
  /// one made the 99th percentile of questions 240 us instead of 180.
  unsigned decode_threads = 1;
  /// ZeroMQ's, that move bytes from and to sockets, about a gigabyte a second each. Where there are
  /// several, the last is the results endpoint's alone.
  unsigned io_threads = 1;
  /// That share the encoding of a tick of more than a few thousand lists; 0: one for each four
  /// cores, at most 4.
  unsigned encode_threads = 0;
  std::size_t decode_bytes_max = std::size_t{256}
                                 << 20;  ///< read and not yet applied, all sessions
  std::size_t decode_requests_max = 8192;

  /// For the vectors of all objects, and as much again for those of all queries: in a vector space
  /// objects_max and queries_max are lowered to the number of vectors that fit. Memory holds up to
  /// four copies of an object's vector.
  std::uint64_t vector_bytes_max = std::uint64_t{4} << 30;

  std::size_t subscriber_bytes_max = std::size_t{64} << 20;  ///< waiting for one slow subscriber
  int subscriber_ticks_max = 0;  ///< waiting for one; 0: as many as fit the bytes, at most 64
  int linger_ms = 2000;          ///< at the end, for what is still to be sent

  bool stop_on_signals = false;  ///< SIGTERM and SIGINT stop the server
  std::string server_name = "starling";
};

}  // namespace starling::stream
