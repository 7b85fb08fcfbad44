// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling simulate`: see simulate.hpp.
#include "starling/apps/simulate/simulate.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/apps/shared/speed_flag.hpp"
#include "starling/apps/simulate/simulate_options.hpp"
#include "starling/apps/simulate/simulate_run.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

void add_demand_flags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--requests", flags.requests,
                     "A CSV file[.gz|.zst] of requests: New York's taxi trips, or any columns with "
                     "--request-columns. Without this flag, requests are random");
  command.add_option(
      "--request-columns", flags.request_columns,
      "The columns of that file, by header or by number from 1: "
      "time=...,pick_lon=...,pick_lat=...,drop_lon=...,drop_lat=..., or with pick_x, pick_y, "
      "drop_x and drop_y in metres");
  command.add_option("--area", flags.area,
                     "Skip rows outside this area: LOW_X,LOW_Y,HIGH_X,HIGH_Y in the units of the "
                     "file, longitude as x. Without this flag, 40 km around the median pick-up");
  command.add_flag("--whole-minutes", flags.whole_minutes,
                   "Keep request times that are whole minutes. Without this flag, if many times "
                   "are whole minutes, they are spread over their minute");
  command.add_option("--rate", flags.rate, "Random requests per hour, as the average of a day")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--side-km", flags.side_km,
                  "Random requests: the side of the square in which they lie; a SUMO network has "
                  "its own area")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command
      .add_option(
          "--hot-spots", flags.hot_spots,
          "Random requests: the number of places where most of them begin. 0: evenly spread")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command.add_flag("--flat", flags.flat,
                   "Random requests: the same rate all day, instead of a daily curve");
  command
      .add_option("--start", flags.start, "Random requests: the time of day at which they begin")
      ->capture_default_str();
  command.add_option("--for", flags.length,
                     "The length of the demand: requests after it are left out [1h for random "
                     "requests, else the whole file]");
}

void add_world_flags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--world", flags.world,
                  "How drivers move: straight (in straight lines), grid (on the streets of square "
                  "blocks), or on the roads of a SUMO network, FILE.net.xml")
      ->capture_default_str();
  command
      .add_option("--speed-kmh", flags.speed_kmh,
                  "The speed for --world straight; roads have their own speeds")
      ->check(CLI::Range(1.0, 500.0))
      ->capture_default_str();
  command.add_option("--block-m", flags.block_m, "The side of a block, for --world grid")
      ->check(CLI::Range(20.0, 5000.0))
      ->capture_default_str();
  command.add_flag("--largest-part", flags.largest_part,
                   "If the network has parts that no road connects, keep the largest part");
}

void add_dispatch_flags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--drivers", flags.drivers, "The number of drivers")
      ->check(CLI::Range(1u, 10'000'000u))
      ->capture_default_str();
  command
      .add_option("--idle", flags.idle,
                  "What drivers without a rider do: park, cruise at random, or head for demand")
      ->check(CLI::IsMember({"park", "cruise", "head"}))
      ->capture_default_str();
  command
      .add_option("--policy", flags.policy,
                  "nearest: riders in order of arrival, each gets the nearest free driver. batch: "
                  "the smallest sum of distances. batch-time: the smallest sum of pick-up times. "
                  "command: a program of yours, see --policy-command")
      ->check(CLI::IsMember({"nearest", "batch", "batch-time", "command"}))
      ->capture_default_str();
  command.add_option("--policy-command", flags.policy_command,
                     "With --policy command: the program that decides, such as 'python3 mine.py'. "
                     "It runs in a shell, and answers each line of JSON with a line of JSON "
                     "(docs/simulate.md)");
  command.add_option("--period", flags.period, "The time from dispatch to dispatch")
      ->capture_default_str();
  command.add_option("-k,--k", flags.k, "The number of drivers in a rider's first list")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command
      .add_option(
          "--k-max", flags.k_max,
          "The most drivers in a list; a list that may be too short for the policy is widened")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command
      .add_option("--patience", flags.patience,
                  "The time after which a rider without a driver gives up")
      ->capture_default_str();
  command
      .add_option("--pickup-max-km", flags.pickup_max_km,
                  "Ask no driver who is farther away than this, in a straight line")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  command
      .add_option("--decline-per-km", flags.decline_per_km,
                  "The probability per kilometre to the rider that a driver declines")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--answer-time", flags.answer_time,
                  "The time from an offer to the driver's answer")
      ->capture_default_str();
  command
      .add_option("--seed", flags.seed,
                  "The seed of all random numbers; the same seed gives the same bytes")
      ->capture_default_str();
}

void add_run_flags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--out", flags.out,
                     "The folder for rides.csv, periods.csv, summary.json, report.html and the "
                     "timings; a run needs it");
  command.add_option(
      "--trace-out", flags.trace_out,
      "Write the drivers' movement to this CSV file[.gz|.zst], which starling replay reads");
  command
      .add_option("--compare", flags.compare,
                  "Instead of a run: print the results of two folders side by side. With --out, "
                  "write compare.html there too")
      ->expected(2);
  add_speed_flag(command, flags.pace);
  add_engine_flags(command, flags.engine);
  command.add_option(
      "--connect", flags.commands,
      "Use the server at this commands endpoint instead of an embedded engine. It must be started "
      "with --tick manual");
  add_results_flag(command, flags.results);
  command
      .add_option(
          "--connect-timeout", flags.connect_timeout,
          "How long to wait for the first answer of that server. A refused connection fails "
          "at once")
      ->capture_default_str();
  add_key_flags(command, flags.key);
  command
      .add_option("--stream", flags.stream,
                  "The name of the stream with the riders' lists on that server")
      ->capture_default_str();
}

}  // namespace

std::function<int()> add_simulate(CLI::App& program) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* const command =
      program.add_subcommand("simulate", "Simulate ride hailing: drivers, riders and a dispatcher");
  add_run_flags(*command, *flags);
  add_demand_flags(*command, *flags);
  add_world_flags(*command, *flags);
  add_dispatch_flags(*command, *flags);
  return [flags] {
    try {
      run_simulate(plan_simulate(*flags));
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
