// SPDX-License-Identifier: Apache-2.0
// The workload `subscribers` has many subscribers of many streams, and `fan-out` has many
// subscribers of one stream. The server ticks by the clock. Each subscriber has its own socket, and
// a few threads of this process read all of them.
#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/percentile.hpp"
#include "starling/protocol/client/connect.hpp"

namespace starling::bench {
namespace {

constexpr std::uint32_t subscribers_default = 1000;
constexpr std::uint32_t streams_default = 100;
constexpr std::uint32_t fan_out_queries = 20;
constexpr double duration_s_default = 10;
constexpr double updates_per_s = 100'000;
constexpr std::size_t steps = 40;
constexpr unsigned reader_threads = 2;
constexpr int sockets_besides = 64;
constexpr double warm_up_s_max = 20;

/// The messages of one tick that have arrived. Times are of the wall clock.
struct Arrivals {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t tau_us = 0;
  std::int64_t first_us = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_us = 0;
};
using ArrivalsByTick = std::map<std::uint64_t, Arrivals>;

/// Reads the sockets of some subscribers on one thread. The descriptor of a ZeroMQ socket stays
/// readable until the internal commands of the socket are processed. drain() processes these
/// commands.
class Reader {
 public:
  Reader(zmq::context_t& context, const ServerChild& server,
         const std::vector<std::string>& streams)
      : poll_fd_(epoll_create1(0)) {
    sockets_.reserve(streams.size());
    for (const std::string& stream : streams) {
      zmq::socket_t& socket = sockets_.emplace_back(context, zmq::socket_type::sub);
      socket.set(zmq::sockopt::linger, 0);
      socket.set(zmq::sockopt::subscribe, protocol::topic_of(stream));
      protocol::use_key(socket, server.key());
      socket.connect(server.results());
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &socket}};
      if (epoll_ctl(poll_fd_, EPOLL_CTL_ADD, socket.get(zmq::sockopt::fd), &event) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot wait for a subscriber");
    }
    thread_ = std::thread([this] { read_until_stopped(); });
  }
  ~Reader() {
    stop();
    close(poll_fd_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  /// Returns the newest tick whose message every socket has received; 0: none.
  std::uint64_t newest_complete() const { return newest_complete_; }
  std::uint64_t malformed() const { return malformed_; }
  /// Call after stop().
  const ArrivalsByTick& arrivals() const { return arrivals_; }

 private:
  void read_until_stopped() {
    constexpr int events_max = 256;
    constexpr int timeout_ms = 50;
    epoll_event events[events_max];
    while (!stopping_) {
      const int count = epoll_wait(poll_fd_, events, events_max, timeout_ms);
      for (int i = 0; i < count; ++i) drain(*static_cast<zmq::socket_t*>(events[i].data.ptr));
    }
  }

  void drain(zmq::socket_t& socket) {
    while (const auto received = receive_tick_now(socket)) note(*received);
  }

  void note(const protocol::ReceivedTick& received) {
    const protocol::DecodedTick& tick = received.tick;
    if (tick.problem) {
      ++malformed_;
      return;
    }
    Arrivals& arrivals = arrivals_[to_number(tick.header.tick)];
    arrivals.bytes += received.bytes;
    arrivals.tau_us = tick.header.tau_us;
    arrivals.last_us = wall_now_us();
    arrivals.first_us = std::min(arrivals.first_us, arrivals.last_us);
    if (++arrivals.count == sockets_.size()) newest_complete_ = to_number(tick.header.tick);
  }

  int poll_fd_;
  std::vector<zmq::socket_t> sockets_;
  ArrivalsByTick arrivals_;
  std::atomic<std::uint64_t> newest_complete_{0};
  std::atomic<std::uint64_t> malformed_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

using Readers = std::vector<std::unique_ptr<Reader>>;

Readers subscribe(zmq::context_t& context, const ServerChild& server, std::uint32_t subscribers,
                  const std::vector<std::string>& streams) {
  std::vector<std::vector<std::string>> wanted(std::min(reader_threads, subscribers));
  for (std::uint32_t i = 0; i < subscribers; ++i)
    wanted[i % wanted.size()].push_back(streams[i % streams.size()]);
  Readers readers;
  for (const auto& each : wanted)
    readers.push_back(std::make_unique<Reader>(context, server, each));
  return readers;
}

std::uint64_t newest_complete(const Readers& readers) {
  std::uint64_t newest = readers[0]->newest_complete();
  for (const auto& reader : readers) newest = std::min(newest, reader->newest_complete());
  return newest;
}

struct Outcome {
  std::vector<double> latencies_ms;  ///< [tick]: time between tau and the last subscriber's message
  /// [tick]: time between the first subscriber's message and the last subscriber's message.
  std::vector<double> spreads_ms;
  std::uint64_t bytes = 0;  ///< bytes of the messages that arrived
  std::uint64_t lost = 0;   ///< messages that did not arrive
};

/// Evaluates the ticks from `first` + 1 to `last`. Every subscriber has received tick `last`, so a
/// missing message of an earlier tick is lost.
Outcome outcome_of(const Readers& readers, std::uint64_t first, std::uint64_t last,
                   std::uint32_t subscribers) {
  ArrivalsByTick all;
  for (const auto& reader : readers)
    for (const auto& [tick, arrivals] : reader->arrivals()) {
      Arrivals& sum = all[tick];
      sum.count += arrivals.count;
      sum.bytes += arrivals.bytes;
      sum.tau_us = arrivals.tau_us;
      sum.first_us = std::min(sum.first_us, arrivals.first_us);
      sum.last_us = std::max(sum.last_us, arrivals.last_us);
    }
  Outcome outcome;
  for (std::uint64_t tick = first + 1; tick <= last; ++tick) {
    const Arrivals& arrivals = all[tick];
    outcome.lost += subscribers - arrivals.count;
    outcome.bytes += arrivals.bytes;
    if (arrivals.count == 0) continue;
    outcome.latencies_ms.push_back(static_cast<double>(arrivals.last_us - arrivals.tau_us) / 1e3);
    outcome.spreads_ms.push_back(static_cast<double>(arrivals.last_us - arrivals.first_us) / 1e3);
  }
  return outcome;
}

struct SubscribersWorkload {
  std::string name;
  WorkloadOptions load;
  std::vector<std::string> streams;
  double ticks_per_s = 10;
};

void run(const SubscribersWorkload& workload, const ServerBenchOptions& options,
         const FiguresHandler& handler) {
  const std::uint32_t subscribers = scaled(subscribers_default, options.scale);
  const std::vector<std::string>& streams = workload.streams;
  const Feed feed(workload.load, steps);
  const auto period_us = static_cast<std::int64_t>(1e6 / workload.ticks_per_s);
  const ServerChild server(options.program,
                           with_flags({"--tick", std::to_string(period_us) + "us"}, options));

  LoadClient client(server);
  const std::vector<protocol::QuerySpec> queries = feed.queries();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const std::size_t begin = queries.size() * i / streams.size();
    const std::size_t end = queries.size() * (i + 1) / streams.size();
    client.put_stream(streams[i], std::span(queries).subspan(begin, end - begin));
  }
  client.post(feed.objects(), 1);
  client.flush();

  zmq::context_t context;
  context.set(zmq::ctxopt::max_sockets, static_cast<int>(subscribers) + sockets_besides);
  const auto start = Clock::now();
  Readers readers = subscribe(context, server, subscribers, streams);
  EndlessFeed load(client, feed);
  load.run_at(updates_per_s * options.scale, [&](std::uint64_t) {
    return newest_complete(readers) > 0 || seconds_since(start) > warm_up_s_max;
  });
  const std::uint64_t first = newest_complete(readers);
  const double join_s = seconds_since(start);
  if (first == 0) throw std::runtime_error("some subscribers have received no tick within 20 s");

  const double duration_s = options.duration_s > 0 ? options.duration_s : duration_s_default;
  const Meter meter(server);
  load.run_at(updates_per_s * options.scale,
              [&](std::uint64_t) { return meter.seconds() > duration_s; });
  const std::uint64_t last = newest_complete(readers);
  const double elapsed_s = meter.seconds();
  std::uint64_t malformed = 0;
  for (const auto& reader : readers) {
    reader->stop();
    malformed += reader->malformed();
  }
  const Outcome outcome = outcome_of(readers, first, last, subscribers);
  const auto ticks = static_cast<double>(last - first);
  handler(
      meter.row(workload.name, {{"latency_median_ms", median(outcome.latencies_ms)},
                                {"latency_p99_ms", percentile(outcome.latencies_ms, 0.99)},
                                {"spread_median_ms", median(outcome.spreads_ms)},
                                {"spread_p99_ms", percentile(outcome.spreads_ms, 0.99)},
                                {"lost", static_cast<double>(outcome.lost + malformed)},
                                {"ticks", ticks},
                                {"ticks_per_s", ticks / elapsed_s},
                                {"join_s", join_s},
                                {"mb_per_s", static_cast<double>(outcome.bytes) / elapsed_s / 1e6},
                                {"subscribers", static_cast<double>(subscribers)},
                                {"streams", static_cast<double>(streams.size())}}));
}

}  // namespace

void run_subscribers(const ServerBenchOptions& options, const FiguresHandler& handler) {
  SubscribersWorkload workload{
      .name = "subscribers", .load = scaled("W3", options.scale), .streams = {}};
  const std::uint32_t count =
      std::min(scaled(streams_default, options.scale), scaled(subscribers_default, options.scale));
  for (std::uint32_t i = 0; i < count; ++i)
    workload.streams.push_back("stream" + std::to_string(i));
  run(workload, options, handler);
}

void run_fan_out(const ServerBenchOptions& options, const FiguresHandler& handler) {
  SubscribersWorkload workload{
      .name = "fan-out", .load = scaled("W3", options.scale), .streams = {"stream"}};
  workload.load.queries = fan_out_queries;
  for (const double rate_hz : options.rates_hz.empty() ? std::vector{10.0} : options.rates_hz) {
    workload.ticks_per_s = rate_hz;
    run(workload, options, handler);
  }
}

}  // namespace starling::bench
