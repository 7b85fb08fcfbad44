// The flags of `starling simulate`: see simulate.hpp.
#include "apps/simulate/simulate.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "apps/simulate/simulate_options.hpp"
#include "apps/simulate/simulate_run.hpp"
#include "sim/traces/trace.hpp"

namespace starling::apps {
namespace {

void add_demand_flags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--requests", flags.requests,
                     "CSV of requests[.gz|.zst]: New York's taxi trips, or see --request-columns; "
                     "without it they are drawn");
  command.add_option("--request-columns", flags.request_columns,
                     "time=...,pick_lon=...,pick_lat=...,drop_lon=...,drop_lat=... or pick_x=..., "
                     "names or numbers");
  command.add_option("--area", flags.area,
                     "Rows outside are skipped: low x,low y,high x,high y in the file's units; "
                     "without it 40 km around the median pick-up");
  command.add_flag(
      "--whole-minutes", flags.whole_minutes,
      "Leave times that are whole minutes as they are; without it, where many are, they "
      "are spread over their minute");
  command.add_option("--rate", flags.rate, "Drawn requests an hour, on average over a day")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--side-km", flags.side_km, "Side of the square they lie in")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command.add_option("--hot-spots", flags.hot_spots, "Where most of them begin; 0: evenly spread")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command.add_flag("--flat", flags.flat, "The same demand all day, without the daily curve");
  command.add_option("--start", flags.start, "Time of the day at which drawn requests begin")
      ->capture_default_str();
  command.add_option("--for", flags.length,
                     "How long riders ask: 1h; of a file by default all of it");
}

void add_world_flags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--world", flags.world,
                  "straight (lines), grid (a city of blocks) or a SUMO network, FILE.net.xml")
      ->capture_default_str();
  command.add_option("--speed-kmh", flags.speed_kmh, "In straight lines; the grid has its own")
      ->check(CLI::Range(1.0, 500.0))
      ->capture_default_str();
  command.add_option("--block-m", flags.block_m, "Side of the grid's blocks")
      ->check(CLI::Range(20.0, 5000.0))
      ->capture_default_str();
  command.add_flag("--largest-part", flags.largest_part,
                   "Of a network that falls apart, keep the largest part");
}

void add_dispatch_flags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--drivers", flags.drivers, "How many")
      ->check(CLI::Range(1u, 10'000'000u))
      ->capture_default_str();
  command
      .add_option("--idle", flags.idle, "Drivers without a fare: park, cruise, or head for demand")
      ->check(CLI::IsMember({"park", "cruise", "head"}))
      ->capture_default_str();
  command
      .add_option("--policy", flags.policy,
                  "nearest: first come, nearest free driver; batch: least sum of distances; "
                  "batch-time: least sum of pick-up times")
      ->check(CLI::IsMember({"nearest", "batch", "batch-time"}))
      ->capture_default_str();
  command.add_option("--period", flags.period, "Time from dispatch to dispatch")
      ->capture_default_str();
  command.add_option("-k,--k", flags.k, "Drivers in a rider's list, to begin with")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command.add_option("--k-max", flags.k_max, "Lists too short to be sure are widened up to this")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command.add_option("--patience", flags.patience, "A rider without a driver gives up after")
      ->capture_default_str();
  command.add_option("--pickup-max-km", flags.pickup_max_km, "No driver further off is asked")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  command
      .add_option("--decline-per-km", flags.decline_per_km,
                  "Probability that a driver declines, for each km to the rider")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--answer-time", flags.answer_time, "From an offer to the driver's answer")
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "The same seed, the same bytes")->capture_default_str();
}

void add_run_flags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--out", flags.out,
                     "Folder for rides.csv, periods.csv, summary.json, report.html and timings");
  command.add_option("--trace-out", flags.trace_out,
                     "Write the drivers' movement as CSV[.gz|.zst] that starling replay reads");
  command
      .add_option("--compare", flags.compare,
                  "Set two runs' folders side by side; with --out, as compare.html there")
      ->expected(2);
  add_engine_choice(command, flags.engine);
  command.add_option(
      "--connect", flags.commands,
      "Ask the server at this commands endpoint, started with --tick manual, and no engine here");
  command.add_option("--results", flags.results, "That server's results endpoint")
      ->capture_default_str();
  command
      .add_option("--connect-timeout", flags.connect_timeout,
                  "How long to wait for that server to answer")
      ->capture_default_str();
  command.add_option("--stream", flags.stream, "The name of the stream of riders' lists")
      ->capture_default_str();
}

}  // namespace

std::function<int()> add_simulate(CLI::App& program) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* const command =
      program.add_subcommand("simulate", "Ride hailing: drivers, riders and a dispatcher");
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
