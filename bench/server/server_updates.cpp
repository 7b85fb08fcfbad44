// SPDX-License-Identifier: Apache-2.0
// The workloads `updates` and `updates-wgs84` measure how many updates per second the server
// acknowledges while it ticks by the clock.
#include <utility>

#include "starling/bench/server/server_load.hpp"
#include "starling/bench/server/server_workloads.hpp"

namespace starling::bench {
namespace {

constexpr double duration_s_default = 5;
constexpr double warm_up_share = 0.1;
constexpr std::size_t steps = 8;

void run(std::string name, Space space, const ServerBenchOptions& options,
         const FiguresHandler& handler) {
  WorkloadOptions workload = scaled("W1", options.scale);
  workload.space = space;
  workload.queries = 1;
  const Feed feed(workload, steps);
  const ServerChild server(options.program,
                           with_flags({"--space", std::string(to_string(space))}, options));
  LoadClient client(server);
  const double duration_s = options.duration_s > 0 ? options.duration_s : duration_s_default;
  EndlessFeed load(client, feed);
  load.run_for(duration_s * warm_up_share);
  const Meter meter(server);
  const auto accepted = static_cast<double>(load.run_for(duration_s));
  const double elapsed_s = meter.seconds();
  handler(meter.row(std::move(name), {{"updates_per_s", accepted / elapsed_s}}));
}

}  // namespace

void run_updates(const ServerBenchOptions& options, const FiguresHandler& handler) {
  run("updates", Space::planar2, options, handler);
}

void run_updates_wgs84(const ServerBenchOptions& options, const FiguresHandler& handler) {
  run("updates-wgs84", Space::wgs84, options, handler);
}

}  // namespace starling::bench
