// The flags of `starling bench tick`, and the engine that is measured: see bench.hpp.
#include "apps/bench.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/bench.hpp"
#include "cpu/cpu_engine.hpp"

namespace starling::apps {
namespace {

struct Options {
  bench::BenchOptions bench;
  std::string peer = "none";
};

std::string workload_names() {
  std::string names;
  for (const bench::WorkloadOptions& workload : bench::workloads())
    names += "\n  " + workload.name + ": " + workload.says;
  return names;
}

}  // namespace

std::function<int()> add_bench(CLI::App& program) {
  CLI::App* command = program.add_subcommand("bench", "measure the canonical workloads");
  command->require_subcommand(1);
  CLI::App* tick = command->add_subcommand(
      "tick", "ticks of moving objects on a square of 20 km:" + workload_names());
  tick->footer(bench::figures_help());
  const auto options = std::make_shared<Options>();
  std::vector<std::string> known;
  for (const bench::WorkloadOptions& workload : bench::workloads()) known.push_back(workload.name);
  tick->add_option("workloads", options->bench.workloads, "which to run (all)")
      ->check(CLI::IsMember(known));
  tick->add_option("--threads", options->bench.threads, "that compute a tick; 0: one per core")
      ->check(CLI::Range(0, 1024));
  tick->add_option("--ticks", options->bench.ticks, "to measure of each; 0: the workload's own")
      ->check(CLI::Range(0, 1'000'000));
  tick->add_option("--peer", options->peer, "another index on one thread, interleaved tick by tick")
      ->check(CLI::IsMember({"none", "nanoflann"}));
  tick->add_flag("--json", options->bench.json, "one JSON object per workload");
  return [options] {
    bench::BenchOptions& bench = options->bench;
    bench.with_nanoflann = options->peer == "nanoflann";
    if (bench.with_nanoflann && !bench::has_nanoflann()) {
      std::cerr << "starling: --peer nanoflann: built without it; configure with "
                   "-DSTARLING_BENCH=ON\n";
      return 2;
    }
    if (bench.threads == 0) bench.threads = std::max(1u, std::thread::hardware_concurrency());
    bench.engine_name = "cpu";
    bench.make_engine = [threads = bench.threads](Space space) {
      return cpu::make_engine({.space = space, .threads = threads, .pin_threads = true});
    };
    bench::run_bench(bench, std::cout);
    return 0;
  };
}

}  // namespace starling::apps
