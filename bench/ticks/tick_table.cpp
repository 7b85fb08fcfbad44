// SPDX-License-Identifier: Apache-2.0
// Chooses the workloads and prints their figures: see tick_table.hpp. Called by apps/bench.cpp.
#include "starling/bench/ticks/tick_table.hpp"

#include <ostream>
#include <stdexcept>

#include "starling/bench/format.hpp"

namespace starling::bench {
namespace {

void write_table_head(const std::vector<NamedPeer>& peers, std::ostream& out) {
  out << format("%-20s %7s %7s %10s %8s %8s %8s %8s %8s %8s %12s %9s %9s", "workload", "lattice",
                "stage", "ns/update", "copy in", "build", "search", "diff", "copy out", "total",
                "p99|max", "B/object", "+ spare");
  for (const NamedPeer& peer : peers) out << format(" %9s %7s", peer.name.c_str(), "ratio");
  out << '\n';
}

void write_row(const TickFigures& f, std::ostream& out) {
  out << format("%-20s %7.2f %7.2f %10.1f %8.3f %8.3f %8.3f %8.3f %8.3f %8.2f %8.2f %s %9.1f %9.1f",
                f.workload.c_str(), f.lattice_ms, f.stage_ms, f.stage_ns_per_update, f.copy_in_ms,
                f.build_ms, f.search_ms, f.diff_ms, f.copy_out_ms, f.total_ms, f.p99_ms,
                f.ticks < p99_ticks_min ? "max" : "p99", f.bytes_per_object,
                f.bytes_per_object_all);
  for (const PeerFigures& peer : f.peers) out << format(" %9.2f %7.3f", peer.ms, peer.ratio);
  out << std::endl;
}

void write_json(const std::string& engine, const TickFigures& f, std::ostream& out) {
  out << format(
      "{\"engine\":\"%s\",\"workload\":\"%s\",\"ticks\":%d,\"lattice_ms\":%.4f,\"stage_ms\":%.4f,"
      "\"stage_ns_per_update\":%.2f,\"copy_in_ms\":%.4f,\"build_ms\":%.4f,\"search_ms\":%.4f,"
      "\"diff_ms\":%.4f,\"copy_out_ms\":%.4f,\"total_ms\":%.4f,\"p99_ms\":%.4f,\"bytes_per_"
      "object\":%.2f,"
      "\"bytes_per_object_all\":%.2f",
      engine.c_str(), f.workload.c_str(), f.ticks, f.lattice_ms, f.stage_ms, f.stage_ns_per_update,
      f.copy_in_ms, f.build_ms, f.search_ms, f.diff_ms, f.copy_out_ms, f.total_ms, f.p99_ms,
      f.bytes_per_object, f.bytes_per_object_all);
  for (const PeerFigures& peer : f.peers)
    out << format(",\"%s_ms\":%.4f,\"%s_ratio\":%.5f,\"%s_lists_compared\":%llu", peer.name.c_str(),
                  peer.ms, peer.name.c_str(), peer.ratio, peer.name.c_str(),
                  static_cast<unsigned long long>(peer.lists_compared));
  out << "}";
}

}  // namespace

std::string figures_help() {
  return "The columns are medians over the ticks, in milliseconds if nothing else is said:\n"
         "  lattice    converting positions to the lattice\n"
         "  stage      putting updates into the object table: id to slot, event time, staged row\n"
         "  ns/update  stage, in nanoseconds per update\n"
         "  copy in    copying the staged rows to the GPU and applying them there\n"
         "  build      building the index; on the CPU this includes applying the staged rows\n"
         "  search     finding all lists\n"
         "  diff       comparing the lists with the last tick's and collecting those that changed\n"
         "  copy out   copying the reports from the GPU\n"
         "  total      lattice + stage + the tick until its report is complete, without the time\n"
         "             to make the rows\n"
         "  p99|max    99th percentile of total; with fewer than 100 ticks the slowest tick,\n"
         "             marked max (in JSON always p99_ms)\n"
         "  B/object   bytes of the table, the snapshot and the index, per object\n"
         "  + spare    B/object with the second index, into which the next tick is built\n"
         "  nanoflann  building its k-d tree and answering every query with it, on one thread\n"
         "  grid       the same with a plain grid of about 3 objects per cell, on our threads\n"
         "  ratio      median over the ticks of (build + search + diff) / the peer to the left\n"
         "Up to 100 lists per tick are compared with each peer's; a difference ends the run.";
}

void run_bench(const BenchOptions& options, std::ostream& out) {
  std::vector<WorkloadOptions> chosen;
  for (const std::string& name : options.workloads) {
    const WorkloadOptions* workload = find_workload(name);
    if (workload == nullptr) throw std::invalid_argument("there is no workload '" + name + "'");
    chosen.push_back(*workload);
  }
  if (chosen.empty()) chosen = workloads();

  if (options.json)
    out << "[";
  else
    out << format("engine %s; milliseconds, medians\n", options.engine_name.c_str());
  if (!options.json) write_table_head(options.peers, out);
  bool first = true;
  for (const WorkloadOptions& workload : chosen) {
    const TickFigures figures = run_tick_bench({.workload = workload,
                                                .make_engine = options.make_engine,
                                                .peers = options.peers,
                                                .ticks = options.ticks,
                                                .threads = options.threads});
    if (options.json) {
      out << (first ? "\n" : ",\n");
      write_json(options.engine_name, figures, out);
    } else {
      write_row(figures, out);
    }
    first = false;
  }
  if (options.json) out << "\n]\n";
}

}  // namespace starling::bench
