// SPDX-License-Identifier: Apache-2.0
// The load of `starling bench server`. Feed makes rows before the measurement. LoadClient and
// EndlessFeed send them in batches. Meter measures time and processor time. The workloads in
// server_*.cpp use these classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "starling/bench/clock.hpp"
#include "starling/bench/server/server_bench.hpp"
#include "starling/bench/ticks/workload.hpp"
#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/subscription.hpp"

namespace starling::bench {

/// Returns the workload `name`. Its numbers of objects and queries are multiplied by `scale`, and
/// each is at least 1.
WorkloadOptions scaled(std::string_view name, double scale);
std::uint32_t scaled(std::uint32_t count, double scale);

/// Positions in the form of an UpdateBatch.
struct Rows {
  std::vector<std::uint64_t> ids;
  std::vector<double> coordinates;  ///< two for each row

  std::size_t count() const { return ids.size(); }
};

/// The rows of a workload: all objects at the start, and for each step the objects that move in it.
class Feed {
 public:
  Feed(const WorkloadOptions& options, std::size_t steps);

  const Workload& workload() const { return workload_; }
  const Rows& objects() const { return objects_; }
  const Rows& step(std::size_t number) const { return steps_[number]; }
  /// Returns the rows of all steps, one step after the other.
  Rows all_steps() const;
  /// Returns the rows of one of `parts` equal parts of the objects, in all steps.
  Rows all_steps_of(std::size_t part, std::size_t parts) const;
  /// Returns the queries of the workload, with ids from 0 and the k of the workload.
  std::vector<protocol::QuerySpec> queries() const;

 private:
  Rows rows_of(const std::vector<std::uint32_t>& objects) const;

  WorkloadOptions options_;
  Workload workload_;
  Rows objects_;
  std::vector<Rows> steps_;
};

/// A client with its own ZeroMQ context, as another process would have. Throws std::runtime_error
/// if the server refuses a request or a row, because the figures of the run would then mean
/// nothing.
class LoadClient {
 public:
  explicit LoadClient(const ServerChild& server);

  protocol::Client& client() { return client_; }

  void put_stream(std::string_view name, std::span<const protocol::QuerySpec> queries);
  /// Posts the rows [begin, end) of `rows` as one batch.
  void post(const Rows& rows, std::size_t begin, std::size_t end, std::int64_t time_us);
  /// Posts all rows, in batches of `batch_rows`.
  void post(const Rows& rows, std::int64_t time_us);
  void post(const protocol::UpdateBatch& batch);
  /// Waits for all replies. Returns the number of rows posted since the last flush(). The server
  /// has accepted all these rows.
  std::uint64_t flush();

 private:
  zmq::context_t context_;
  protocol::Client client_;
  std::vector<std::int64_t> times_us_;
  std::uint64_t posted_ = 0;
};

inline constexpr std::size_t batch_rows = 1000;

/// Sends the steps of a feed again and again, in batches. The times of the rows are wall-clock
/// times.
class EndlessFeed {
 public:
  EndlessFeed(LoadClient& client, const Feed& feed) : EndlessFeed(client, feed.all_steps()) {}
  EndlessFeed(LoadClient& client, Rows rows) : client_(client), rows_(std::move(rows)) {}

  /// Sends as fast as the server accepts. Returns the number of accepted rows.
  std::uint64_t run_for(double seconds);
  /// Sends `rows_per_s` rows per second until `stop` returns true. Calls `stop` before each batch,
  /// with the number of rows accepted so far.
  void run_at(double rows_per_s, const std::function<bool(std::uint64_t accepted)>& stop);

 private:
  void post_batch();

  LoadClient& client_;
  Rows rows_;
  std::size_t next_ = 0;
};

/// Returns the next tick that has arrived at a subscribed socket; std::nullopt if none has arrived.
std::optional<protocol::ReceivedTick> receive_tick_now(zmq::socket_t& socket);

/// Gives a steady pace: wait() returns `calls_per_s` times per second. The times are counted from
/// the construction, so a late call does not delay later calls.
class Pace {
 public:
  explicit Pace(double calls_per_s) : interval_s_(1 / calls_per_s) {}
  void wait();

 private:
  double interval_s_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t calls_ = 0;
};

/// Measures, since its construction, the elapsed time and the processor times of the server and of
/// this process.
class Meter {
 public:
  explicit Meter(const ServerChild& server);

  double seconds() const { return seconds_since(start_); }
  /// Returns a row of the table: first `figures`, then the cores that the server and the clients
  /// have used since this object was constructed, then the server's memory.
  ServerFigures row(std::string workload, std::vector<Figure> figures) const;

 private:
  const ServerChild& server_;
  Clock::time_point start_ = Clock::now();
  double server_cpu_s_;
  double client_cpu_s_;
};

/// Returns the flags of the workload followed by the serve flags that the user gave.
std::vector<std::string> with_flags(std::vector<std::string> flags,
                                    const ServerBenchOptions& options);

}  // namespace starling::bench
