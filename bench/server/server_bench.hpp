// `starling bench server`: the server under load over loopback sockets, one row a workload, as a
// table or as JSON. Called by apps/bench.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/server/server_child.hpp"

namespace starling::bench {

struct ServerBenchOptions {
  std::vector<std::string> workloads;    ///< names; empty: all that run unasked
  std::string program;                   ///< path of `starling`, whose `serve` is measured
  std::vector<std::string> serve_flags;  ///< after those of the workload
  double duration_s = 0;                 ///< of each that goes by time; 0: its own
  double scale = 1;                      ///< of objects, queries, rates and subscribers
  double share = 0.7;                    ///< soak: of the measured capacity
  std::vector<double> rates_hz{};        ///< million: ticks a second, a row each; empty: its own
  bool json = false;
};

/// A number and what it is, with its unit at the end: "latency_p99_us".
struct Figure {
  std::string name;
  double value = 0;
};

/// A row of the table.
struct ServerFigures {
  std::string workload;
  std::vector<Figure> figures;
  double server_cpu = 0;  ///< cores that the server used on average
  double client_cpu = 0;  ///< and the clients, all of them in this process
  ProcessMemory memory;   ///< of the server
};

/// Takes a row as soon as it is measured.
using FiguresHandler = std::function<void(const ServerFigures&)>;

struct ServerWorkload {
  std::string name;
  std::string says;
  void (*run)(const ServerBenchOptions&, const FiguresHandler&);
  bool runs_unasked = true;
};

const std::vector<ServerWorkload>& server_workloads();

/// What the figures say, for --help.
std::string server_figures_help();

/// Throws std::invalid_argument naming an unknown workload, std::runtime_error if the server fails.
void run_server_bench(const ServerBenchOptions& options, std::ostream& out);

}  // namespace starling::bench
