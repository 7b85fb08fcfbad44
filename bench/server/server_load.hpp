// What the clients of `starling bench server` send and how they take the time: rows made before
// anything is measured, batches, a steady pace, processor time. Used by the server_*.cpp workloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zmq.hpp>

#include "starling/bench/clock.hpp"
#include "starling/bench/server/server_bench.hpp"
#include "starling/bench/ticks/workload.hpp"
#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/subscription.hpp"

namespace starling::bench {

/// The workload of this name with its counts scaled, at least 1 each.
WorkloadOptions scaled(std::string_view name, double scale);
std::uint32_t scaled(std::uint32_t count, double scale);

/// Positions as an UpdateBatch shows them.
struct Rows {
  std::vector<std::uint64_t> ids;
  std::vector<double> coordinates;  ///< two a row

  std::size_t count() const { return ids.size(); }
};

/// A workload's objects, then what moves in its steps.
class Feed {
 public:
  Feed(const WorkloadOptions& options, std::size_t steps);

  const Workload& workload() const { return workload_; }
  const Rows& objects() const { return objects_; }
  const Rows& step(std::size_t number) const { return steps_[number]; }
  /// All steps, one after another.
  Rows all_steps() const;
  /// The workload's queries, their ids from 0; with k of the workload.
  std::vector<protocol::QuerySpec> queries() const;

 private:
  Rows rows_of(const std::vector<std::uint32_t>& objects) const;

  WorkloadOptions options_;
  Workload workload_;
  Rows objects_;
  std::vector<Rows> steps_;
};

/// A connection of its own, as a process of its own would have. A server that refuses a request or
/// does not accept a row ends the run with std::runtime_error: its figures would mean nothing.
class LoadClient {
 public:
  explicit LoadClient(const ServerChild& server);

  protocol::Client& client() { return client_; }

  void put_stream(std::string_view name, std::span<const protocol::QuerySpec> queries);
  /// Posts rows [begin, end) as one batch.
  void post(const Rows& rows, std::size_t begin, std::size_t end, std::int64_t time_us);
  /// All rows, in batches of `batch_rows`.
  void post(const Rows& rows, std::int64_t time_us);
  void post(const protocol::UpdateBatch& batch);
  /// Waits for all replies; returns how many rows were accepted, which were all.
  std::uint64_t flush();

 private:
  zmq::context_t context_;
  protocol::Client client_;
  std::vector<std::int64_t> times_us_;
  std::uint64_t posted_ = 0;
};

inline constexpr std::size_t batch_rows = 1000;

/// Batch after batch of a feed's steps, over and over; times are the wall clock's.
class EndlessFeed {
 public:
  EndlessFeed(LoadClient& client, const Feed& feed) : client_(client), rows_(feed.all_steps()) {}

  /// As fast as the server takes them; returns rows accepted.
  std::uint64_t run_for(double seconds);
  /// At a steady pace until `stop`, told before each batch how many rows have been accepted, says
  /// so.
  void run_at(double rows_per_s, const std::function<bool(std::uint64_t accepted)>& stop);

 private:
  void post_batch();

  LoadClient& client_;
  Rows rows_;
  std::size_t next_ = 0;
};

/// The next tick that waits at a subscribed socket, if any.
std::optional<protocol::ReceivedTick> receive_tick_now(zmq::socket_t& socket);

/// Calls come at steady times from the start on; a late one does not move those after it.
class Pace {
 public:
  explicit Pace(double calls_per_s) : interval_s_(1 / calls_per_s) {}
  void wait();

 private:
  double interval_s_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t calls_ = 0;
};

/// From construction on: time, and processor time of the server and of this process.
class Meter {
 public:
  explicit Meter(const ServerChild& server);

  double seconds() const { return seconds_since(start_); }
  /// The row, with what server and clients have used since.
  ServerFigures row(std::string workload, std::vector<Figure> figures) const;

 private:
  const ServerChild& server_;
  Clock::time_point start_ = Clock::now();
  double server_cpu_s_;
  double client_cpu_s_;
};

/// `--threads` and whatever else the user gave, after the workload's own flags.
std::vector<std::string> with_flags(std::vector<std::string> flags,
                                    const ServerBenchOptions& options);

}  // namespace starling::bench
