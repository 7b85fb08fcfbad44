// The flags of `starling replay`: see replay.hpp.
#include "apps/replay.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "apps/replay_options.hpp"
#include "apps/replay_report.hpp"
#include "apps/replay_run.hpp"

namespace starling::apps {
namespace {

std::string format_help() {
  std::string text = "auto looks at the files and says what it saw; or ";
  for (const sim::Layout& layout : sim::layouts())
    text += std::string(layout.name) + (layout.name == sim::layouts().back().name ? "" : ", ");
  return text;
}

void add_trace_flags(CLI::App& command, ReplayFlags& flags) {
  command
      .add_option("trace", flags.paths,
                  "Files and directories, .gz and .zst too; together they are one trace")
      ->required();
  command.add_option("--format", flags.trace.format, format_help())->capture_default_str();
  command.add_option(
      "--columns", flags.trace.columns,
      "CSV: id=,time=,lat=,lon=[,alt=] or id=,time=,x=,y=[,z=], and [,tags=]; header "
      "names, or numbers from 1 where there is no header; id=@file is the file's name");
  command
      .add_option(
          "--time-unit", flags.time_unit,
          "Of times that are numbers (default: told by their magnitude; below 1e11 s, below "
          "1e14 ms, else us)")
      ->check(CLI::IsMember({"auto", "s", "ms", "us"}));
  command.add_option("--utc-offset", flags.utc_offset, "Of times without a zone, such as +01:00")
      ->capture_default_str();
  command.add_flag("--altitude", flags.trace.altitude, "Altitudes count; rows without are skipped");
  command.add_flag("--persons", flags.trace.persons, "SUMO: persons too");
  command.add_flag("--keep-null-island", flags.trace.keep_null_island,
                   "Keep rows at latitude and longitude 0");
  command
      .add_option("--max-speed-mps", flags.trace.max_speed_mps,
                  "Skip rows that their object could only have reached faster from its last kept "
                  "row, in a straight line, in metres a second; three such rows in succession "
                  "that agree with one another are believed, so that a wrong first fix costs two "
                  "rows (times less than 1 s apart count as 1 s)")
      ->check(CLI::PositiveNumber);
  command.add_flag("--strict", flags.trace.strict, "Stop at the first row that would be skipped");
  command.add_option("--from", flags.from, "Leave earlier rows out");
  command.add_option("--to", flags.to, "Leave later rows out");
  command
      .add_option("--order", flags.order, "Event time, or the file's order, which makes late rows")
      ->check(CLI::IsMember({"time", "file"}))
      ->capture_default_str();
  command
      .add_option("--sort-memory", flags.sort.memory_bytes,
                  "For rows while they are sorted, such as 64MiB or 2GB; what doesn't fit waits in "
                  "a temporary file (default: 256MiB)")
      ->transform(CLI::AsSizeValue(true));
  command.add_option("--temp-dir", flags.sort.temp_dir,
                     "Where that file is made, and unlinked at once (default: $TMPDIR, or /tmp)");
}

void add_engine_flags(CLI::App& command, ReplayFlags& flags) {
  command.add_option("--space", flags.space, "Where objects live (default: by the layout)")
      ->check(CLI::IsMember({"planar2", "planar3", "wgs84"}));
  command.add_option("--resolution", flags.resolution_m, "Metres in a step of the lattice")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--origin", flags.origin, "Middle of a planar space: x,y[,z] in metres");
  command.add_option("--object-ttl", flags.object_ttl, "Objects unheard for so long leave");
  command.add_option("--threads", flags.threads, "That compute a tick (default: one per core)");
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
  command.add_option("--out", flags.out, "Write the lists to this CSV file[.gz]; - is stdout");
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
  add_trace_flags(*command, *flags);
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
