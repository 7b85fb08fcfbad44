// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling bench tick`, `pipeline`, `filters`, `server`, `knn`, `selection` and
// `vector-ticks`, and makes the engine that is measured: see bench.hpp.
#include "starling/apps/bench.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/apps/shared/space_flags.hpp"
#include "starling/bench/server/server_bench.hpp"
#include "starling/bench/ticks/filter_bench.hpp"
#include "starling/bench/ticks/pipeline_table.hpp"
#include "starling/bench/ticks/tick_table.hpp"
#include "starling/bench/vectors/knn_table.hpp"
#include "starling/bench/vectors/paper_tables.hpp"
#include "starling/bench/vectors/selection_table.hpp"
#include "starling/bench/vectors/vector_tick_bench.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::apps {
namespace {

struct TickOptions {
  bench::BenchOptions bench;
  EngineFlags engine;
  std::vector<std::string> peers;
};

struct PipelineOptions {
  bench::PipelineTableOptions table;
  EngineFlags engine;
};

struct FilterOptions {
  bench::FilterBenchOptions table;
  EngineFlags engine;
};

struct KnnOptions {
  bench::KnnTableOptions table;
  SearcherFlags searcher;
};

template <class Workloads>
std::vector<std::string> names_of(const Workloads& workloads) {
  std::vector<std::string> names;
  names.reserve(workloads.size());
  for (const auto& workload : workloads) names.push_back(workload.name);
  return names;
}

template <class Workloads>
std::string list_of(const Workloads& workloads) {
  std::string list;
  for (const auto& workload : workloads) list += "\n  " + workload.name + ": " + workload.says;
  return list;
}

unsigned threads_of(const EngineFlags& flags) {
  return flags.threads == 0 ? std::max(1u, std::thread::hardware_concurrency()) : flags.threads;
}

std::string heading_of(const std::string& engine, const std::string& why, unsigned threads) {
  if (engine != "cpu") return engine + " " + why;
  return "cpu, threads " + std::to_string(threads) + ", " + describe_cpu().simd_target;
}

/// Sets the name and the factory of the engine that the flags choose.
template <class Options>
void set_engine(EngineFlags flags, Options& options) {
  flags.threads = threads_of(flags);
  const EngineChoice engine = choose_engine(flags);
  options.engine_name = heading_of(engine.name, engine.why, flags.threads);
  options.make_engine = [make = engine.make](Space space) { return make({.space = space}); };
}

int run_knn_bench(KnnOptions& options) {
  SearcherFlags flags = options.searcher;
  flags.threads = threads_of(flags);
  const SearcherChoice choice = choose_searcher(flags);
  const std::string name(choice.searcher->name());
  options.table.engine_name = heading_of(name, choice.why, flags.threads);
  bench::write_knn_table(options.table, *choice.searcher, std::cout);
  return 0;
}

int run_tick(TickOptions& options) {
  bench::BenchOptions& bench = options.bench;
  const unsigned threads = threads_of(options.engine);
  for (const std::string& peer : options.peers) {
    if (peer == "nanoflann") bench.peers.push_back({peer, bench::make_nanoflann_peer});
    if (peer == "grid")
      bench.peers.push_back({peer, [threads] { return bench::make_grid_peer(threads); }});
  }
  bench.threads = threads;
  set_engine(options.engine, bench);
  bench::run_bench(bench, std::cout);
  return 0;
}

void add_ticks(CLI::App& command, int& ticks) {
  command
      .add_option("--ticks", ticks,
                  "Measure this many ticks of each workload. 0: the workload's own number")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
}

std::function<int()> add_tick(CLI::App& command) {
  CLI::App* tick = command.add_subcommand(
      "tick",
      "Measure ticks of moving objects on a square of 20 km:" + list_of(bench::workloads()) +
          "\nand, for a GPU:" + list_of(bench::large_workloads()));
  tick->footer(bench::figures_help());
  const auto options = std::make_shared<TickOptions>();
  std::vector<std::string> names = names_of(bench::workloads());
  std::ranges::copy(names_of(bench::large_workloads()), std::back_inserter(names));
  tick->add_option("workloads", options->bench.workloads,
                   "The workloads to run. Without a name, W1 to W1-one-cell")
      ->check(CLI::IsMember(names));
  add_engine_flags(*tick, options->engine);
  add_simd_flag(*tick, options->engine);
  add_ticks(*tick, options->bench.ticks);
  tick->add_option("--peer", options->peers,
                   "Measure what you might use instead, too; each of its ticks follows one of "
                   "ours. Several: "
                   "grid,nanoflann")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "grid", "nanoflann"}));
  tick->add_flag("--json", options->bench.json, "Print one JSON object per workload");
  return [options] { return run_tick(*options); };
}

std::function<int()> add_pipeline(CLI::App& command) {
  CLI::App* pipeline = command.add_subcommand(
      "pipeline", "Measure an engine alone, one tick at a time and with ticks that overlap:" +
                      list_of(bench::pipeline_workloads()));
  pipeline->footer(bench::pipeline_figures_help());
  const auto options = std::make_shared<PipelineOptions>();
  pipeline
      ->add_option("workloads", options->table.workloads,
                   "The workloads to run. Without a name, all")
      ->check(CLI::IsMember(names_of(bench::pipeline_workloads())));
  add_engine_flags(*pipeline, options->engine);
  add_simd_flag(*pipeline, options->engine);
  add_ticks(*pipeline, options->table.ticks);
  pipeline->add_flag("--json", options->table.json, "Print one JSON object per workload");
  return [options] {
    set_engine(options->engine, options->table);
    bench::write_pipeline_table(options->table, std::cout);
    return 0;
  };
}

std::function<int()> add_filters(CLI::App& command) {
  CLI::App* filters = command.add_subcommand(
      "filters", "Measure ticks whose queries accept all, some, few or none of the objects");
  filters->footer(bench::filter_figures_help());
  const auto options = std::make_shared<FilterOptions>();
  bench::FilterBenchOptions& table = options->table;
  filters->add_option("--objects", table.objects, "The number of objects; all of them move")
      ->check(CLI::Range(3'000u, 100'000'000u))
      ->capture_default_str();
  filters->add_option("--queries", table.queries, "The number of queries")
      ->check(CLI::Range(1u, 100'000'000u))
      ->capture_default_str();
  filters->add_option("-k", table.k, "The number of neighbours of each query")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  filters->add_option("--ticks", table.ticks, "Measure this many ticks for each figure")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_engine_flags(*filters, options->engine);
  add_simd_flag(*filters, options->engine);
  filters->add_flag("--json", table.json, "Print one JSON object per figure");
  return [options] {
    set_engine(options->engine, options->table);
    bench::write_filter_table(options->table, std::cout);
    return 0;
  };
}

std::function<int()> add_knn(CLI::App& command, const std::string& name) {
  CLI::App* knn = command.add_subcommand(
      name,
      "Measure exact k-NN over vectors at the sizes of published methods, and print the published "
      "times beside ours:" +
          list_of(bench::paper_tables()));
  knn->footer(bench::knn_figures_help());
  const auto options = std::make_shared<KnnOptions>();
  bench::KnnTableOptions& table = options->table;
  knn->add_option("--table", table.table, "The table to measure")
      ->required()
      ->check(CLI::IsMember(names_of(bench::paper_tables())));
  add_searcher_flags(*knn, options->searcher);
  add_simd_flag(*knn, options->searcher);
  knn->add_option(
         "--shapes", table.shapes,
         "The rows of the table to measure, by number, such as 1,2,5. Without this flag, all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NUMBER");
  knn->add_option("--scale", table.scale, "Multiply the numbers of rows and queries by this")
      ->check(CLI::Range(1e-4, 1e2))
      ->capture_default_str();
  knn->add_option("--repeats", table.runs,
                  "The runs of each measurement. 0: 20, or 3 if one run takes more than a second")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  knn->add_flag("--serial", table.serial,
                "Also measure plain searches on one core, each for about a second");
  const std::map<std::string, bench::CorpusMemory> memories{
      {"ordinary", bench::CorpusMemory::ordinary},
      {"page-locked", bench::CorpusMemory::page_locked},
      {"mapped", bench::CorpusMemory::mapped}};
  knn->add_option("--memory", table.memory,
                  "Where the rows are before their upload: ordinary memory, page-locked memory, "
                  "which a GPU copies fastest, or a mapped file [ordinary]")
      ->transform(CLI::CheckedTransformer(memories).description("KIND"));
  knn->add_option("--seed", table.seed, "The seed of the random rows")->capture_default_str();
  knn->add_flag("--json", table.json, "Print one JSON object");
  return [options] { return run_knn_bench(*options); };
}

struct SelectionOptions {
  bench::SelectionTableOptions table;
  EngineFlags engine;
};

std::function<int()> add_selection(CLI::App& command) {
  CLI::App* selection = command.add_subcommand(
      "selection",
      "Measure quick multi-select on a GPU: the k smallest numbers of each matrix row");
  selection->footer(bench::selection_figures_help());
  const auto options = std::make_shared<SelectionOptions>();
  add_device_flag(*selection, options->engine);
  selection->add_option("--repeats", options->table.runs, "The runs of each measurement")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  selection->add_flag("--serial", options->table.serial,
                      "Also measure std::nth_element on one core, for about a second each");
  selection->add_flag("--json", options->table.json, "Print one JSON object per row");
  return [options] {
    const SelectionTimer timer = choose_selection_timer(options->engine);
    options->table.engine_name = timer.engine_name;
    options->table.read_gb_per_s = timer.read_gb_per_s;
    options->table.time_ms = timer.time_ms;
    bench::write_selection_table(options->table, std::cout);
    return 0;
  };
}

std::function<int()> add_server(CLI::App& command) {
  CLI::App* server =
      command.add_subcommand("server", "Measure starling serve under load over loopback sockets:" +
                                           list_of(bench::server_workloads()));
  server->footer(bench::server_figures_help());
  const auto options = std::make_shared<bench::ServerBenchOptions>();
  const auto key = std::make_shared<KeyFlags>();
  server
      ->add_option("workloads", options->workloads,
                   "The workloads to run. Without a name, all but fan-out, million, views and "
                   "soak")
      ->check(CLI::IsMember(names_of(bench::server_workloads())));
  server
      ->add_option_function<std::string>(
          "--duration",
          [options](const std::string& text) {
            const auto duration_us = parse_duration_us(text);
            if (!duration_us || *duration_us == 0)
              throw CLI::ValidationError(
                  "--duration",
                  "\"" + text + "\" is not a duration; write a number and a unit, such as 10m");
            options->duration_s = static_cast<double>(*duration_us) / 1e6;
          },
          "Run each workload that has a duration for this long, such as 10s. Without this flag, "
          "the workload's own duration")
      ->type_name("DURATION");
  server
      ->add_option(
          "--scale", options->scale,
          "Multiply the numbers of objects, queries and subscribers, and the rates, by this")
      ->check(CLI::Range(1e-4, 1e3))
      ->capture_default_str();
  server
      ->add_option("--producers", options->producers,
                   "For updates and updates-wgs84: the clients that send, each its part of the "
                   "objects")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  server
      ->add_option("--view-readers", options->view_readers,
                   "For tick: this many WebSockets with a view of everything")
      ->check(CLI::Range(0u, 16u))
      ->capture_default_str();
  server
      ->add_option("--view-ticks-per-s", options->view_ticks_per_s,
                   "At most this many messages a second for each of --view-readers; for views also "
                   "the ticks per second")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  server
      ->add_option("--event-readers", options->event_readers,
                   "For tick: this many readers of another stream's events, over HTTP")
      ->check(CLI::Range(0u, 128u))
      ->capture_default_str();
  server
      ->add_option("--streams", options->streams,
                   "For million: the streams among which the queries are divided. Each has a "
                   "subscriber")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  server
      ->add_option("--share", options->share,
                   "For soak: send updates at this share of the measured capacity")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  server
      ->add_option(
          "--rate", options->rates_hz,
          "For million and fan-out: the ticks per second. With several, such as 10,12.5,16, each "
          "rate "
          "is one row; million stops after a rate that the server does not sustain [10]. For "
          "views: the updates of each object per second [1,10]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0.1, 1000.0))
      ->type_name("HZ");
  server
      ->add_option("--serve-flag", options->serve_flags,
                   "A flag for every measured server: --serve-flag=--decode-threads=2")
      ->type_name("FLAG");
  add_key_flags(*server, *key);
  server->add_flag("--json", options->json, "Print one JSON object per row");
  return [options, key] {
    options->program = {.path = std::filesystem::read_symlink("/proc/self/exe").string(),
                        .key = {}};
    if (!key->file.empty()) options->program.key = key_of(*key);
    bench::run_server_bench(*options, std::cout);
    return 0;
  };
}

std::function<int()> add_vector_ticks(CLI::App& command, const std::string& name) {
  CLI::App* ticks = command.add_subcommand(
      name,
      "Measure ticks of a vector space: some objects get new vectors, and all standing queries are "
      "answered again");
  ticks->footer(bench::vector_tick_figures_help());
  const auto options = std::make_shared<bench::VectorTickOptions>();
  const auto engine = std::make_shared<EngineFlags>();
  ticks->add_option("--objects", options->objects, "The number of objects")
      ->check(CLI::Range(1u, 100'000'000u))
      ->capture_default_str();
  ticks->add_option("--dimension", options->dimension, "The number of components of a vector")
      ->check(CLI::Range(1u, dimension_max))
      ->capture_default_str();
  ticks
      ->add_option_function<std::string>(
          "--metric",
          [options](const std::string& metric) { options->metric = metric_named(metric).value(); },
          "The metric that ranks neighbours [l2]")
      ->check(CLI::IsMember(metric_names()));
  ticks->add_option("--moving", options->moving, "The share of the objects that change in a tick")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  ticks
      ->add_option("--queries", options->queries,
                   "The number of standing queries, at fixed vectors")
      ->check(CLI::Range(0u, 1'000'000u))
      ->capture_default_str();
  ticks->add_option("-k", options->k, "The number of neighbours of each query")
      ->check(CLI::Range(1u, k_max))
      ->capture_default_str();
  ticks->add_option("--ticks", options->ticks, "Measure this many ticks")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_engine_flags(*ticks, *engine);
  add_simd_flag(*ticks, *engine);
  ticks->add_option("--seed", options->seed, "The seed of the random vectors")
      ->capture_default_str();
  ticks->add_flag("--json", options->json, "Print one JSON object");
  return [options, engine] {
    if (engine->threads == 0) engine->threads = std::max(1u, std::thread::hardware_concurrency());
    const EngineChoice choice = choose_engine(*engine);
    options->engine_name = heading_of(choice.name, choice.why, engine->threads);
    options->make_engine = choice.make;
    bench::write_vector_ticks(*options, std::cout);
    return 0;
  };
}

struct OldName {
  std::string name;
  std::string name_now;
  std::function<int()> (*add)(CLI::App& command, const std::string& name);
};

/// Adds a command under its old name, which --help does not show. The command works the same, and
/// prints its new name to stderr.
void add_old_name(CLI::App& command, std::map<std::string, std::function<int()>>& runs,
                  const OldName& old) {
  const std::function<int()> run = old.add(command, old.name);
  command.get_subcommand(old.name)->group("");
  runs[old.name] = [old, run] {
    std::cerr << "bench: `" << old.name << "` is now called `" << old.name_now << "`\n";
    return run();
  };
}

}  // namespace

std::function<int()> add_bench(CLI::App& program) {
  CLI::App* command = program.add_subcommand("bench", "Measure the canonical workloads");
  command->require_subcommand(1);
  std::map<std::string, std::function<int()>> runs = {
      {"tick", add_tick(*command)},
      {"pipeline", add_pipeline(*command)},
      {"filters", add_filters(*command)},
      {"server", add_server(*command)},
      {"knn", add_knn(*command, "knn")},
      {"selection", add_selection(*command)},
      {"vector-ticks", add_vector_ticks(*command, "vector-ticks")}};
  add_old_name(*command, runs, {"dense", "knn", add_knn});
  add_old_name(*command, runs, {"vectors", "vector-ticks", add_vector_ticks});
  return [command, runs] {
    try {
      return runs.at(command->get_subcommands().front()->get_name())();
    } catch (const sim::UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
  };
}

}  // namespace starling::apps
