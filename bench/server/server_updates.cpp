// SPDX-License-Identifier: Apache-2.0
// The workloads `updates` and `updates-wgs84` measure how many updates per second the server
// acknowledges while it ticks by the clock.
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"

namespace starling::bench {
namespace {

constexpr double duration_s_default = 5;
constexpr double warm_up_share = 0.1;
constexpr std::size_t steps = 8;

// Bytes on the wire of a row's id, time and two coordinates.
constexpr double row_bytes = 32;

/// A client, and the rows that it sends.
struct Producer {
  Producer(const ServerChild& server, Rows rows) : client(server), load(client, std::move(rows)) {}

  LoadClient client;
  EndlessFeed load;
};

/// Lets all producers send at the same time, each on its own thread. Returns the number of accepted
/// rows.
std::uint64_t send_for(std::span<const std::unique_ptr<Producer>> producers, double seconds) {
  std::vector<std::future<std::uint64_t>> sent;
  sent.reserve(producers.size());
  for (const auto& producer : producers)
    sent.push_back(std::async(std::launch::async,
                              [&producer, seconds] { return producer->load.run_for(seconds); }));
  std::uint64_t accepted = 0;
  for (auto& each : sent) accepted += each.get();
  return accepted;
}

void run(std::string name, Space space, const ServerBenchOptions& options,
         const FiguresHandler& handler) {
  WorkloadOptions workload = scaled("W1", options.scale);
  workload.space = space;
  workload.queries = 1;
  const Feed feed(workload, steps);
  const ServerChild server(options.program,
                           with_flags({"--space", std::string(to_string(space))}, options));
  std::vector<std::unique_ptr<Producer>> producers;
  for (unsigned i = 0; i < options.producers; ++i)
    producers.push_back(
        std::make_unique<Producer>(server, feed.all_steps_of(i, options.producers)));
  const double duration_s = options.duration_s > 0 ? options.duration_s : duration_s_default;
  send_for(producers, duration_s * warm_up_share);
  const Meter meter(server);
  const auto accepted = static_cast<double>(send_for(producers, duration_s));
  const double elapsed_s = meter.seconds();
  handler(meter.row(std::move(name), {{"updates_per_s", accepted / elapsed_s},
                                      {"rows_gb_per_s", accepted * row_bytes / elapsed_s / 1e9}}));
}

}  // namespace

void run_updates(const ServerBenchOptions& options, const FiguresHandler& handler) {
  run("updates", Space::planar2, options, handler);
}

void run_updates_wgs84(const ServerBenchOptions& options, const FiguresHandler& handler) {
  run("updates-wgs84", Space::wgs84, options, handler);
}

}  // namespace starling::bench
