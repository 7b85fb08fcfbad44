// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling view` and checks them: see view.hpp.
#include "starling/apps/view/view.hpp"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/duration_flag.hpp"
#include "starling/apps/shared/http_flag.hpp"
#include "starling/apps/shared/page_network.hpp"
#include "starling/apps/shared/trace_flags.hpp"
#include "starling/apps/view/playback.hpp"
#include "starling/apps/view/view_run.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

struct ViewFlags : TraceFlags {
  std::string journal;
  std::string tick = "1s";
  double speed = 1;
  std::string object_ttl;
  std::string page_network;
  std::string http_host = "127.0.0.1";
  std::uint16_t http_port = 7413;
  EngineFlags engine;
};

void add_flags(CLI::App& command, ViewFlags& flags) {
  command.add_option("--tick", flags.tick, "The time from tick to tick, such as 100ms, 1s or 10s")
      ->check(is_duration_from(1000))
      ->capture_default_str();
  command.add_option("--speed", flags.speed, "A multiple of real time, such as 1, 2.5 or 60")
      ->check(CLI::Range(Playback::speed_min, Playback::speed_max))
      ->capture_default_str();
  command
      .add_option("--object-ttl", flags.object_ttl,
                  "Remove an object that has had no row for this long, such as 10m. Without this "
                  "flag, objects stay")
      ->check(is_duration_from(1));
  add_http_flag(command, flags.http_host, flags.http_port,
                "The address of the page and of the JSON of docs/http.md; port 0 stands for any "
                "free port");
  add_page_network_flag(command, flags.page_network);
  add_engine_flags(command, flags.engine);
}

/// Adds --journal. --journal excludes the flags that describe a trace.
void add_journal_flag(CLI::App& command, ViewFlags& flags) {
  CLI::Option& journal =
      *command
           .add_option("--journal", flags.journal,
                       "Instead of a trace, play the log in this folder (serve --journal): each of "
                       "its ticks, with all objects as that tick had them. With --from and --until")
           ->type_name("DIR");
  for (const char* flag :
       {"trace", "--format", "--columns", "--space", "--time-unit", "--utc-offset", "--altitude",
        "--persons", "--keep-null-island", "--max-speed-mps", "--strict", "--order",
        "--sort-memory", "--temp-dir", "--tick", "--object-ttl"})
    journal.excludes(command.get_option(flag));
}

ViewPlan plan_view(const ViewFlags& flags) {
  if (flags.journal.empty() && flags.paths.empty())
    throw sim::UsageError("give a trace, or the folder of a server's log with --journal");
  ViewPlan plan;
  static_cast<TracePlan&>(plan) = plan_trace(flags);
  plan.journal = flags.journal;
  plan.log_span = {plan.trace.from_us, plan.trace.to_us};
  plan.tick_us = duration_us(flags.tick);
  plan.speed = flags.speed;
  plan.object_ttl_us =
      flags.object_ttl.empty() ? ObjectTableOptions::never_us : duration_us(flags.object_ttl);
  plan.page_network = flags.page_network;
  plan.http_host = flags.http_host;
  plan.http_port = flags.http_port;
  plan.engine = flags.engine;
  return plan;
}

}  // namespace

std::function<int()> add_view(CLI::App& program) {
  auto flags = std::make_shared<ViewFlags>();
  CLI::App& command = *program.add_subcommand(
      "view", "Play a recorded trace, or a server's log, for a browser, in a server of its own");
  add_trace_flags(command, *flags);
  command.get_option("trace")->required(false);
  add_flags(command, *flags);
  add_journal_flag(command, *flags);
  command.footer(
      "Prints the address of the page. In a terminal, space pauses, + and - change the speed, the\n"
      "arrows go a minute back and forth, r plays from the beginning, and q ends.\n"
      "Examples:\n"
      "  starling view ais.csv.gz\n"
      "  starling view fcd.xml.gz --speed 10 --page-network city.net.xml\n"
      "  starling view ships.csv --from 2022-01-03T00:10:00Z --http 127.0.0.1:8080\n"
      "  starling view --journal log --from 2026-03-01T12:00:00Z --http 127.0.0.1:0");
  return [flags] {
    try {
      run_view(plan_view(*flags));
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
    return 0;
  };
}

}  // namespace starling::apps
