// SPDX-License-Identifier: Apache-2.0
// `simulate-server SEED` repeats a simulation that a test has found, and shrinks it. With --seeds
// it runs many simulations, and stops at the first one with a violation.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "tests/server_simulation/simulation.hpp"

namespace {

using starling::simulation::DiskFault;
using starling::simulation::SimulationOptions;
using starling::simulation::SimulationResult;

void print(const SimulationResult& result) {
  constexpr std::size_t shown_max = 5;
  for (std::size_t i = 0; i < std::min(shown_max, result.violations.size()); ++i)
    std::printf("  %s\n", result.violations[i].c_str());
  if (result.violations.size() > shown_max)
    std::printf("  and %zu more\n", result.violations.size() - shown_max);
  std::printf(
      "  %llu events in %.1f virtual seconds, trace %016llx; %llu requests acknowledged, %llu "
      "ticks "
      "(%llu failed), %llu messages, %llu answers (%llu about the past), %llu starts (%llu after a "
      "crash), %llu "
      "snapshots, %llu copies put back, %llu answers to honest ones after at most %lld us, timers "
      "late by at most %lld us\n",
      static_cast<unsigned long long>(result.events), result.virtual_s,
      static_cast<unsigned long long>(result.trace),
      static_cast<unsigned long long>(result.acknowledged),
      static_cast<unsigned long long>(result.ticks),
      static_cast<unsigned long long>(result.failed_ticks),
      static_cast<unsigned long long>(result.messages),
      static_cast<unsigned long long>(result.answers),
      static_cast<unsigned long long>(result.past_answers),
      static_cast<unsigned long long>(result.starts),
      static_cast<unsigned long long>(result.crashes),
      static_cast<unsigned long long>(result.snapshots),
      static_cast<unsigned long long>(result.put_backs),
      static_cast<unsigned long long>(result.timely),
      static_cast<long long>(result.longest_request_us),
      static_cast<long long>(result.longest_timer_us));
}

/// Parses KIND:CALL. Throws std::invalid_argument if the text is not of this form.
DiskFault disk_fault_from(const std::string& text) {
  using starling::simulation::disk_fault_names;
  const std::size_t colon = text.find(':');
  const auto name = std::ranges::find(disk_fault_names, std::string_view(text).substr(0, colon));
  if (colon == std::string::npos || name == disk_fault_names.end())
    throw std::invalid_argument("--disk-fault: " + text + " is not like power:12");
  return {static_cast<DiskFault::Kind>(name - disk_fault_names.begin()),
          std::stoull(text.substr(colon + 1))};
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Runs simulations of a whole server, whose events follow from a seed",
               "simulate-server");
  SimulationOptions options;
  std::uint64_t seeds = 1;
  std::vector<std::string> without;
  std::string disk_fault;
  bool has_log = false;
  bool has_no_others = false;
  bool has_no_snapshots = false;
  bool keeps_size = false;
  app.add_option("SEED", options.seed, "The seed, or the first one")->required();
  app.add_option("--seeds", seeds, "How many seeds, from SEED on")->type_name("NUMBER");
  app.add_option("--without", without, "Faults that do not happen")
      ->type_name("FAULT")
      ->check(CLI::IsMember(std::vector<std::string>(starling::simulation::fault_names.begin(),
                                                     starling::simulation::fault_names.end())));
  app.add_option("--clients", options.clients, "Clients")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 100));
  app.add_option("--requests", options.requests, "Requests that change something")
      ->type_name("NUMBER");
  app.add_option("--disk-fault", disk_fault,
                 "A call to the disk that fails: power, writing, syncing or room, and its number")
      ->type_name("KIND:CALL");
  app.add_option("--failing-allocation", options.failing_allocation,
                 "The number of an allocation of the server that fails")
      ->type_name("NUMBER");
  app.add_flag("--no-others", has_no_others, "No keys, and no principals besides the clients");
  app.add_flag("--no-snapshots", has_no_snapshots, "Make no snapshots of the log");
  app.add_flag("--no-shrink", keeps_size, "Do not look for a smaller run that fails");
  app.add_flag("--log", has_log, "Show what the servers log");
  CLI11_PARSE(app, argc, argv);
  options.has_others = !has_no_others;
  options.has_snapshots = !has_no_snapshots;
  for (const std::string& name : without)
    options.without.insert(*starling::simulation::fault_from_string(name));
  if (!disk_fault.empty()) options.disk_fault = disk_fault_from(disk_fault);
  spdlog::set_level(has_log ? spdlog::level::debug : spdlog::level::off);

  const auto since = std::chrono::steady_clock::now();
  SimulationResult all;
  for (const std::uint64_t end = options.seed + seeds; options.seed < end; ++options.seed) {
    const SimulationResult result = starling::simulation::simulate(options);
    all.add(result);
    if (result.violations.empty()) continue;
    std::printf("seed %llu violates:\n", static_cast<unsigned long long>(options.seed));
    print(result);
    if (!keeps_size) {
      const SimulationOptions smaller = starling::simulation::shrink(options);
      std::printf("the smallest run found: %s\n", command_of(smaller).c_str());
      print(starling::simulation::simulate(smaller));
    }
    return 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  std::printf("%llu seeds in %.1f s: nothing was violated\n",
              static_cast<unsigned long long>(seeds), took.count());
  print(all);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "simulate-server: %s\n", error.what());
  return 2;
}
