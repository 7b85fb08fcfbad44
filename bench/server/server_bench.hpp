// SPDX-License-Identifier: Apache-2.0
// `starling bench server`: measures the server under load over loopback sockets. Prints rows of a
// table or JSON. Called by apps/bench.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "starling/bench/server/server_child.hpp"

namespace starling::bench {

struct ServerBenchOptions {
  std::vector<std::string> workloads;    ///< names; empty: all workloads with runs_unasked
  ServerProgram program;                 ///< the program whose `serve` is measured
  std::vector<std::string> serve_flags;  ///< added after the flags of the workload
  double duration_s = 0;  ///< measured time of workloads with a duration; 0: the workload's default
  double scale = 1;       ///< factor for objects, queries, rates and subscribers
  /// For updates and updates-wgs84: how many clients send, each its own part of the objects.
  unsigned producers = 1;
  unsigned view_readers = 0;  ///< readers of views of everything, over WebSockets; used by tick
  /// Greatest number of ticks per second of each view. In the workload `views`, the server has this
  /// tick rate, too.
  float view_ticks_per_s = 10;
  unsigned event_readers = 0;  ///< readers of the events of another stream, over HTTP; used by tick
  unsigned streams = 1;        ///< streams, each with a subscriber; used by million
  double share = 0.7;          ///< load as a share of the measured capacity; used by soak
  /// For million and fan-out: ticks per second, a row for each; empty: 10. For views: updates of
  /// each object per second; empty: 1 and 10.
  std::vector<double> rates_hz{};
  bool json = false;
};

/// A number and its name, which ends with the unit: "latency_p99_us".
struct Figure {
  std::string name;
  double value = 0;
};

/// A row of the table.
struct ServerFigures {
  std::string workload;
  std::vector<Figure> figures;
  double server_cpu = 0;  ///< the cores that the server used on average
  double client_cpu = 0;  ///< the cores that this process, which has all clients, used
  ProcessMemory memory;   ///< the server's memory
};

/// Called with each row as soon as it is measured.
using FiguresHandler = std::function<void(const ServerFigures&)>;

struct ServerWorkload {
  std::string name;
  std::string says;
  void (*run)(const ServerBenchOptions&, const FiguresHandler&);
  bool runs_unasked = true;
};

const std::vector<ServerWorkload>& server_workloads();

/// Returns the meaning of the figures, for --help.
std::string server_figures_help();

/// Throws std::invalid_argument if a workload is unknown, and std::runtime_error if the server
/// fails.
void run_server_bench(const ServerBenchOptions& options, std::ostream& out);

}  // namespace starling::bench
