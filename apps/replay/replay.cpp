// The flags of `starling replay`: see replay.hpp.
#include "apps/replay/replay.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "apps/replay/replay_options.hpp"
#include "apps/replay/replay_report.hpp"
#include "apps/replay/replay_run.hpp"

namespace starling::apps {
namespace {

void add_engine_flags(CLI::App& command, ReplayFlags& flags) {
  command.add_option("--resolution", flags.resolution_m, "Metres in a step of the lattice")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--origin", flags.origin, "Middle of a planar space: x,y[,z] in metres");
  command.add_option("--object-ttl", flags.object_ttl, "Objects unheard for so long leave");
  add_engine_choice(command, flags.engine);
  command.add_option(
      "--connect", flags.commands,
      "Replay into the server at this commands endpoint, started with --tick manual");
  command.add_option("--results", flags.results, "That server's results endpoint")
      ->capture_default_str();
  command
      .add_option("--connect-timeout", flags.connect_timeout,
                  "How long to wait for that server to answer")
      ->capture_default_str();
  command.add_option("--stream", flags.stream, "The name of the stream that reports the lists")
      ->capture_default_str();
}

void add_result_flags(CLI::App& command, ReplayFlags& flags) {
  command.add_option("-k,--k", flags.k, "Neighbours of a query")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command
      .add_option("--queries", flags.queries,
                  "all: every object; or a CSV file: query_id,lat,lon or query_id,x,y or "
                  "query_id,follow")
      ->capture_default_str();
  command.add_option("--max-age", flags.max_age, "Only neighbours heard of within this time");
  command.add_option("--tick", flags.tick, "Time from tick to tick: 100ms, 1s, 10s")
      ->capture_default_str();
  command.add_option("--speed", flags.speed, "Times real time, or max")->capture_default_str();
  command.add_option("--out", flags.out, "Write the lists to this CSV file[.gz|.zst]; - is stdout");
  command.add_flag("--changes", flags.changes,
                   "Write only lists that changed, not all at each tick");
  command.add_option("--on", flags.on, "What counts as a change")
      ->check(CLI::IsMember({"membership", "order", "distance"}))
      ->capture_default_str();
}

}  // namespace

std::function<int()> add_replay(CLI::App& program) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* const command = program.add_subcommand(
      "replay", "Run recorded movement through an embedded engine or into a server");
  add_trace_flags(*command, *flags, "--to,--until");
  add_result_flags(*command, *flags);
  add_engine_flags(*command, *flags);
  return [flags] {
    try {
      print_summary(run_replay(plan_replay(*flags)));
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
