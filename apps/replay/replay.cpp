// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling replay`: see replay.hpp.
#include "starling/apps/replay/replay.hpp"

#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fcntl.h>

#include "starling/apps/replay/journal_replay.hpp"
#include "starling/apps/replay/replay_options.hpp"
#include "starling/apps/replay/replay_report.hpp"
#include "starling/apps/replay/replay_run.hpp"
#include "starling/apps/shared/exact_flag.hpp"
#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/apps/shared/speed_flag.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

/// Adds --to, the old name of --until. --help does not show --to.
void add_old_until_flag(CLI::App& command, ReplayFlags& flags) {
  command
      .add_option_function<std::string>(
          "--to",
          [&command, &flags](const std::string& text) {
            if (command.count("--until") > 0)
              throw CLI::ValidationError("--to", "is the old name of --until; give only --until");
            std::fputs("replay: `--to` is now called `--until`\n", stderr);
            flags.until = text;
          })
      ->group("");
}

void add_engine_flags(CLI::App& command, ReplayFlags& flags) {
  command
      .add_option("--resolution", flags.resolution_m,
                  "Coordinates are rounded to multiples of this many metres")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--origin", flags.origin,
                     "The origin of a planar space: x,y or x,y,z in metres [0,0,0]");
  command.add_option("--object-ttl", flags.object_ttl,
                     "Remove an object that has had no row for this long, such as 10m. Without "
                     "this flag, objects stay");
  add_engine_flags(command, flags.engine);
  command.add_option(
      "--connect", flags.commands,
      "Replay into the server at this commands endpoint. It must be started with --tick manual and "
      "with the space of the trace");
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
                  "The name of the stream that reports the lists on that server")
      ->capture_default_str();
}

/// Returns an error unless `text` is a descriptor that is open for writing.
std::string check_descriptor(const std::string& text) {
  int descriptor = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, descriptor);
  const int mode = error == std::errc() && rest == end ? fcntl(descriptor, F_GETFL) : -1;
  if (mode != -1 && (mode & O_ACCMODE) != O_RDONLY) return {};
  return text +
         " is not a file descriptor that is open for writing; open one for this program, such as "
         "--progress-fd 3 with 3>progress.txt";
}

void add_result_flags(CLI::App& command, ReplayFlags& flags) {
  command.add_option("-k,--k", flags.k, "The number of neighbours of each query")
      ->check(CLI::Range(std::uint32_t{1}, k_max))
      ->capture_default_str();
  command
      .add_option("--queries", flags.queries,
                  "all: every object is a query. Else a CSV file with the columns query_id,lat,lon "
                  "or query_id,x,y or query_id,follow. The columns k, distance_max_m, age_max, "
                  "tags_required and tags_forbidden are optional; where a field is empty, the "
                  "flags below count")
      ->capture_default_str();
  command.add_option("--max-age", flags.max_age,
                     "Leave out neighbours whose last row is older than this, such as 10m. Without "
                     "this flag, neighbours of any age count");
  command.add_option("--distance-max", flags.distance_max,
                     "Leave out neighbours that are farther away than this, in metres");
  command.add_option("--tags-required", flags.tags_required,
                     "Leave out neighbours that lack one of these tag bits: a number, such as 5 or "
                     "0x5 for the bits 0 and 2");
  command.add_option("--tags-forbidden", flags.tags_forbidden,
                     "Leave out neighbours that have one of these tag bits");
  command.add_option("--tick", flags.tick, "The time from tick to tick, such as 100ms, 1s or 10s")
      ->capture_default_str();
  add_speed_flag(command, flags.speed);
  command
      .add_option("--progress-fd", flags.progress_fd,
                  "For programs that run this one: write lines of progress to this open file "
                  "descriptor, such as `replaying 30 60` for 30 of 60 ticks. A total of 0 is "
                  "unknown. Without this flag, a terminal gets a bar")
      ->check(CLI::Validator(check_descriptor, ""));
  command.add_option(
      "--out", flags.out,
      "Write the lists to this CSV file[.gz|.zst], which appears when it is complete; - is the "
      "standard output. An empty list has one row of rank 0, with empty object and distance");
  add_exact_flag(command, flags.exact);
  command.add_flag(
      "--changes", flags.changes,
      "Write only the lists that changed, instead of all lists. A list that is removed "
      "has one row with empty rank, object and distance");
  command
      .add_option("--with", flags.with,
                  "Further columns of --out, separated by commas. time: the tick's time as ISO "
                  "8601. position: the neighbour's last position in the trace. change: entered or "
                  "stayed since the list was last written; an object that left has one more row, "
                  "left, with an empty rank")
      ->delimiter(',')
      ->check(CLI::IsMember(sim::columns_on_request));
  command.add_flag("--every-tick", flags.every_tick,
                   "Write all lists also in ticks in which no row falls and no list changed");
  command.add_option("--on", flags.on, "For --changes: what counts as a change of a list")
      ->check(CLI::IsMember({"membership", "order", "distance"}))
      ->capture_default_str();
}

/// Adds --journal. --journal excludes the flags that describe a trace, queries or a server.
void add_journal_flag(CLI::App& command, ReplayFlags& flags) {
  CLI::Option& journal =
      *command
           .add_option("--journal", flags.journal,
                       "Instead of a trace, run the ticks of the log in this folder again "
                       "(serve --journal), and compare the bytes that they publish with the "
                       "hashes in the log. With --from, --until, --speed and --engine; --out gets "
                       "the lists that --stream reports")
           ->type_name("DIR");
  for (const char* flag : {"--format",
                           "--columns",
                           "--space",
                           "--time-unit",
                           "--strict",
                           "--order",
                           "--resolution",
                           "--origin",
                           "--object-ttl",
                           "--connect",
                           "--k",
                           "--queries",
                           "--max-age",
                           "--distance-max",
                           "--tags-required",
                           "--tags-forbidden",
                           "--tick",
                           "--changes",
                           "--with",
                           "--every-tick",
                           "--progress-fd",
                           "--on"})
    journal.excludes(command.get_option(flag));
}

}  // namespace

std::function<int()> add_replay(CLI::App& program) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* const command = program.add_subcommand(
      "replay",
      "Run a recorded trace through an embedded engine or into a server, or a server's log again");
  add_trace_flags(*command, *flags);
  add_explain_flag(*command, *flags);
  command->get_option("trace")->required(false);
  add_old_until_flag(*command, *flags);
  add_result_flags(*command, *flags);
  add_engine_flags(*command, *flags);
  add_journal_flag(*command, *flags);
  return [flags] {
    try {
      if (flags->exact && flags->out.empty())
        throw sim::UsageError("--exact says how --out writes distances; add --out FILE");
      if (!flags->journal.empty()) return replay_journal(*flags);
      if (flags->paths.empty())
        throw sim::UsageError("give a trace, or the folder of a server's log with --journal");
      const ReplayPlan plan = plan_replay(*flags);
      if (plan.explain)
        explain_trace(sim::Trace(plan.paths, plan.trace));
      else
        print_summary(run_replay(plan));
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
