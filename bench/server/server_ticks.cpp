// SPDX-License-Identifier: Apache-2.0
// The workloads `tick` and `standing` measure the time of a tick: from the first update sent until
// the subscriber holds every list that the tick reports. Ticks are advanced on request.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "starling/bench/server/event_readers.hpp"
#include "starling/bench/server/server_listener.hpp"
#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"
#include "starling/bench/server/timed_ticks.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr const char* stream = "bench";
constexpr const char* watched_stream = "watched";  ///< readers of events follow this stream
constexpr std::size_t watched_queries = 10;
constexpr std::int64_t tick_us = 1'000'000;

struct TickWorkload {
  WorkloadOptions load;
  std::size_t warm_up = 0;
  std::size_t ticks = 0;
};

void run(std::string name, const TickWorkload& workload, const ServerBenchOptions& options,
         const FiguresHandler& handler) {
  const Feed feed(workload.load, workload.warm_up + workload.ticks);
  const ServerChild server(options.program, with_flags({"--tick", "manual"}, options));
  LoadClient client(server);
  client.put_stream(stream, feed.queries());
  if (options.event_readers > 0) {
    auto queries = feed.queries();
    queries.resize(std::min(queries.size(), watched_queries));
    client.put_stream(watched_stream, queries);
  }
  client.client().advance_tick(0).value();
  Listener listener(server, stream);
  std::optional<EventReaders> readers;
  if (options.event_readers > 0) readers.emplace(server, watched_stream, options.event_readers);
  constexpr Rectangle everything{0, 0, 20'000, 20'000};  // the square that has all objects
  std::optional<EventReaders> viewers;
  if (options.view_readers > 0)
    viewers.emplace(server, everything, options.view_ticks_per_s, options.view_readers);

  TimedTicks timed(client, listener, tick_us);
  const auto tick_ms = [&](const Rows& rows) {
    return timed.run([&](std::int64_t tau_us) { client.post(rows, tau_us); });
  };

  const double first_ms = tick_ms(feed.objects());
  for (std::size_t i = 0; i < workload.warm_up; ++i) tick_ms(feed.step(i));
  timed.forget_warm_up();
  const Meter meter(server);
  const std::uint64_t bytes_before = readers ? readers->bytes() : 0;
  const std::uint64_t view_bytes_before = viewers ? viewers->bytes() : 0;
  std::vector<double> latencies_ms;
  for (std::size_t i = 0; i < workload.ticks; ++i)
    latencies_ms.push_back(tick_ms(feed.step(workload.warm_up + i)));
  const auto event_bytes = readers ? static_cast<double>(readers->bytes() - bytes_before) : 0;
  const auto view_bytes = viewers ? static_cast<double>(viewers->bytes() - view_bytes_before) : 0;
  handler(meter.row(std::move(name), {{"latency_median_ms", median(latencies_ms)},
                                      {"latency_p99_ms", percentile(latencies_ms, 0.99)},
                                      {"engine_median_ms", median(timed.engine_ms())},
                                      {"first_ms", first_ms},
                                      {"lists_per_tick", timed.lists_per_tick()},
                                      {"event_readers", static_cast<double>(options.event_readers)},
                                      {"event_mib", event_bytes / (1 << 20)},
                                      {"view_readers", static_cast<double>(options.view_readers)},
                                      {"view_mib", view_bytes / (1 << 20)},
                                      {"ticks", static_cast<double>(workload.ticks)}}));
}

}  // namespace

void run_tick(const ServerBenchOptions& options, const FiguresHandler& handler) {
  run("tick",
      {.load = scaled("W3", options.scale), .warm_up = 5, .ticks = scaled(200, options.scale)},
      options, handler);
}

void run_standing(const ServerBenchOptions& options, const FiguresHandler& handler) {
  WorkloadOptions load = *find_workload("W3");
  load.objects = scaled(30'000, options.scale);
  load.queries = scaled(50'000, options.scale);
  load.moving_share = 1;
  run("standing", {.load = load, .warm_up = 2, .ticks = scaled(20, options.scale)}, options,
      handler);
}

}  // namespace starling::bench
