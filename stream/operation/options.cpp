// SPDX-License-Identifier: Apache-2.0
// The rules between options, and the options that follow from other options: see options.hpp.
#include "starling/stream/operation/options.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/access/key_ring.hpp"
#include "starling/stream/http/page_files.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/sockets/bind_endpoint.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/sockets/trusted_proxies.hpp"

namespace starling::stream {

namespace {

constexpr std::int64_t wall_future_max_us = 10'000'000;

/// `limit` is the name of the limit or flag, without the leading "--".
[[noreturn]] void refuse(const std::string& limit, const std::string& why, std::uint64_t value) {
  throw std::invalid_argument(limit + ": " + why + ", not " + std::to_string(value));
}

std::string at_least(std::uint64_t least, const char* unit) {
  return ", so at least " + std::to_string(least) + " " + unit;
}

/// Lowers the limits on objects and on queries to the number of vectors that fit in `bytes_max`.
void hold_vectors_to(std::uint64_t bytes_max, const protocol::ServedSpace& space,
                     ProcessorOptions& processor) {
  const std::uint64_t rows_max = space.rows_that_fit(bytes_max);
  if (rows_max == 0)
    refuse("vector-bytes-max",
           "the bytes of all vectors must hold one of dimension " +
               std::to_string(space.options().dimension) + at_least(space.vector_bytes(), "bytes"),
           bytes_max);
  auto& objects_max = processor.objects.objects_max;
  auto& queries_max = processor.queries.queries_max;
  objects_max = std::min(objects_max, rows_max);
  queries_max = std::min(queries_max, rows_max);
}

void check_names_asked(const protocol::Limits& limits) {
  constexpr std::size_t text_bytes_besides = 16;  // a name's length, NUL, padding and offset
  const std::size_t name_bytes = limits.text_bytes_max + text_bytes_besides;
  if (limits.names_asked_max * name_bytes > protocol::chunk_bytes_max)
    refuse("names-asked-max",
           "the answer to one request, with names of text-bytes-max, must fit in " +
               std::to_string(protocol::chunk_bytes_max) + " bytes, so at most " +
               std::to_string(protocol::chunk_bytes_max / name_bytes) + " names",
           limits.names_asked_max);
}

void check_page_rows(const protocol::Limits& limits) {
  constexpr std::size_t row_bytes_besides = 256;  // the numbers of a stream, a query or an object
  const std::size_t row_bytes =
      std::max<std::size_t>(limits.text_bytes_max, stream_name_bytes_max) + row_bytes_besides;
  constexpr std::size_t rows_bytes = protocol::chunk_bytes_max / 2;  // the rest is for vectors
  if (limits.page_rows_max * row_bytes > rows_bytes)
    refuse("page-rows-max",
           "a page, with names of text-bytes-max, must fit in " + std::to_string(rows_bytes) +
               " bytes, so at most " + std::to_string(rows_bytes / row_bytes) + " rows",
           limits.page_rows_max);
}

void complete_journal(JournalOptions& journal) {
  if (!journal.durability)
    journal.durability = journal.folder.empty() ? Durability::off : Durability::tick;
  if (journal.folder.empty() && journal.durability != Durability::off)
    throw std::invalid_argument("durability: " + std::string(to_string(*journal.durability)) +
                                " needs a folder for the log; name one with --journal DIR, or use "
                                "--durability off");
}

void check_io_threads(const ServerOptions& options) {
  constexpr unsigned io_threads_max = 64;
  if (options.io_threads == 0 || options.io_threads > io_threads_max)
    refuse("io-threads", "there must be 1 to " + std::to_string(io_threads_max) + " threads",
           options.io_threads);
  if (options.results_io_threads == 0 ||
      options.results_io_threads > std::max(options.io_threads - 1, 1u))
    refuse("results-io-threads",
           "of " + std::to_string(options.io_threads) +
               " I/O threads, at least one must serve the results and one the commands",
           options.results_io_threads);
}

/// A request must have room for a row, and a session's credit for a request.
void check_requests(const protocol::Limits& limits, const protocol::ServedSpace& space) {
  // Bytes of the request without rows, and of a row's id, time, tags, label and value.
  constexpr std::size_t row_bytes_besides = 1024;
  const std::size_t frame_bytes_least = row_bytes_besides + space.vector_bytes();
  if (limits.frame_bytes_max < frame_bytes_least)
    refuse("frame-bytes-max",
           "a request must hold " + space.row_text() + at_least(frame_bytes_least, "bytes"),
           limits.frame_bytes_max);
  if (limits.credit_bytes < limits.frame_bytes_max)
    refuse("credit-bytes",
           "a session's credit must cover a request of frame-bytes-max" +
               at_least(limits.frame_bytes_max, "bytes"),
           limits.credit_bytes);
  if (limits.credit_rows < limits.rows_max)
    refuse(
        "credit-rows",
        "a session's credit must cover a request of rows-max" + at_least(limits.rows_max, "rows"),
        limits.credit_rows);
  check_names_asked(limits);
  check_page_rows(limits);
}

/// A separate engine makes the log's snapshots. It must hold as many neighbours as the server's
/// engine may.
void check_snapshots(const ServerOptions& options) {
  if (!options.journal.is_on() || !options.journal.make_engine) return;
  const std::uint64_t most =
      options.journal.make_engine(options.processor.space)->limits().neighbors_max;
  if (options.processor.queries.neighbors_max > most)
    refuse("neighbors-max",
           "the engine that makes the log's snapshots holds at most " + std::to_string(most) +
               " neighbours",
           options.processor.queries.neighbors_max);
}

}  // namespace

Reach zmtp_reach_allowed(const ServerOptions& options) {
  return options.insecure || !options.keys_path.empty() ? Reach::network : Reach::machine;
}

Reach http_reach_allowed(const ServerOptions& options) {
  const bool is_safe = !options.keys_path.empty() && options.tls.has_value();
  return options.insecure || is_safe ? Reach::network : Reach::machine;
}

ServerOptions completed(ServerOptions options, const EngineLimits& engine) {
  const protocol::ServedSpace space(options.processor.space);
  options.limits.space = space.options().space;
  options.limits.dimension = space.options().dimension;
  options.limits.metric = space.options().metric;
  if (options.limits.k_max > engine.k_max)
    refuse("k-max",
           "the engine's lists have at most " + std::to_string(engine.k_max) + " neighbours",
           options.limits.k_max);
  options.processor.queries.k_max = options.limits.k_max;
  options.processor.queries.owner_queries_max = options.sessions.queries_max;
  hold_vectors_to(options.vector_bytes_max, space, options.processor);
  options.memory_bytes_max =
      MemoryBudget({.bytes_max = options.memory_bytes_max, .limits = options.memory_limits})
          .bytes_max();
  // Waiting requests take at most an eighth of the memory. One request always fits.
  options.decode_bytes_max = std::min<std::size_t>(
      options.decode_bytes_max,
      std::max<std::size_t>(options.memory_bytes_max / 8, options.limits.frame_bytes_max));
  // A body that is read takes some times its bytes. One body always fits.
  options.http_bodies_bytes_max = std::min<std::size_t>(
      options.http_bodies_bytes_max,
      std::max<std::size_t>(options.memory_bytes_max / 16, options.http_body_bytes_max));
  complete_journal(options.journal);
  options.journal.wall_now_us = options.wall_now_us;
  check_snapshots(options);
  options.sessions.replies_max = options.limits.unanswered_max;
  // Ids come from the network. With a random seed, clients cannot choose ids that collide in the
  // hash table.
  options.processor.objects.hash_seed = options.random();
  options.processor.queries.hash_seed = options.random();
  check_io_threads(options);
  if (options.tick_period_us && *options.tick_period_us <= 0)
    throw std::invalid_argument("tick: the time between two ticks must be longer than 0");
  if (options.update_threads == 0) options.update_threads = half_of_cores();
  options.processor.threads = options.update_threads;
  if (options.encode_threads == 0) options.encode_threads = half_of_cores();
  if (options.tick_period_us && !options.future_max_us) options.future_max_us = wall_future_max_us;
  check_requests(options.limits, space);
  if (!options.http_trusted_proxy.empty())
    static_cast<void>(TrustedProxies(options.http_trusted_proxy));
  if (options.tls && (options.tls->certificate.empty() || options.tls->key.empty()))
    throw std::invalid_argument(
        options.tls->key.empty()
            ? "tls-key: TLS needs the private key of the certificate too; name its file"
            : "tls-cert: TLS needs the certificate of the private key too; name its file");
  return options;
}

KeptOptions kept_options(const ServerOptions& options) {
  return {.space = options.processor.space,
          .object_ttl_us = options.processor.objects.object_ttl_us,
          .tombstone_ttl_us = options.processor.objects.tombstone_ttl_us,
          .neighbors_max = options.processor.queries.neighbors_max,
          .has_keys = !options.keys_path.empty()};
}

std::vector<std::string> faults_of(const ServerOptions& options, const EngineLimits& engine) {
  std::vector<std::string> faults;
  try {
    completed(options, engine);
  } catch (const std::invalid_argument& error) {
    faults.emplace_back(error.what());
  }
  try {
    if (!options.keys_path.empty()) KeyRing{options.keys_path, !options.http_trusted_proxy.empty()};
  } catch (const std::runtime_error& error) {
    faults.emplace_back(error.what());
  }
  const auto add = [&](const std::string& name, const std::string& endpoint, std::string fault,
                       Reach allowed) {
    if (fault.empty()) fault = fault_of_reach(endpoint, allowed);
    if (!fault.empty()) faults.push_back("cannot listen on " + name + ": " + fault);
  };
  for (const std::string& endpoint : {options.commands_endpoint, options.results_endpoint})
    add(endpoint, endpoint, fault_of_endpoint(endpoint), zmtp_reach_allowed(options));
  const std::string http = options.http_host + ":" + std::to_string(options.http_port);
  add(http, "tcp://" + http, fault_of_http_host(options.http_host), http_reach_allowed(options));
  const bool has_free_port = options.commands_endpoint.ends_with('*');
  if (!has_free_port && options.commands_endpoint == options.results_endpoint)
    faults.push_back("commands and results cannot both listen on " + options.commands_endpoint);
  for (const std::string& endpoint : {options.commands_endpoint, options.results_endpoint})
    if (options.http_port != 0 && endpoint == "tcp://" + http)
      faults.push_back("http cannot listen on " + endpoint + ", as another endpoint does");
  try {
    if (options.tls && !options.tls->certificate.empty() && !options.tls->key.empty())
      load_tls(*options.tls);
  } catch (const std::runtime_error& error) {
    faults.emplace_back(error.what());
  }
  try {
    if (!options.page_folder.empty()) static_cast<void>(PageFiles(options.page_folder));
  } catch (const std::runtime_error& error) {
    faults.emplace_back(error.what());
  }
  return faults;
}

}  // namespace starling::stream
