#include "bench/bench.hpp"

#include <cstdio>
#include <ostream>
#include <stdexcept>

namespace starling::bench {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

void write_table_head(std::ostream& out) {
  out << "workload        stage  ns/update    build   search     diff    total      p99  B/object"
         "     peer   ratio\n";
}

void write_row(const TickFigures& f, std::ostream& out) {
  out << format("%-14s %6.2f %10.1f %8.2f %8.2f %8.2f %8.2f %8.2f %9.1f", f.workload.c_str(),
                f.stage_ms, f.stage_ns_per_update, f.build_ms, f.search_ms, f.diff_ms, f.total_ms,
                f.p99_ms, f.bytes_per_object);
  if (f.has_peer) out << format(" %8.2f %7.3f", f.peer_ms, f.ratio);
  out << std::endl;
}

void write_json(const TickFigures& f, std::ostream& out) {
  out << format(
      "{\"workload\":\"%s\",\"ticks\":%d,\"lattice_ms\":%.4f,\"stage_ms\":%.4f,"
      "\"stage_ns_per_update\":%.2f,\"build_ms\":%.4f,\"search_ms\":%.4f,\"diff_ms\":%.4f,"
      "\"total_ms\":%.4f,\"p99_ms\":%.4f,\"bytes_per_object\":%.2f",
      f.workload.c_str(), f.ticks, f.lattice_ms, f.stage_ms, f.stage_ns_per_update, f.build_ms,
      f.search_ms, f.diff_ms, f.total_ms, f.p99_ms, f.bytes_per_object);
  if (f.has_peer) out << format(",\"peer_ms\":%.4f,\"ratio\":%.5f", f.peer_ms, f.ratio);
  out << "}";
}

}  // namespace

bool has_nanoflann() {
#ifdef STARLING_NANOFLANN
  return true;
#else
  return false;
#endif
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
    out << format(
        "engine %s, %u threads; milliseconds, medians; ratio = (build + search + diff) / "
        "peer\n",
        options.engine_name.c_str(), options.threads);
  if (!options.json) write_table_head(out);
  bool first = true;
  for (const WorkloadOptions& workload : chosen) {
    const TickFigures figures = run_tick_bench({.workload = workload,
                                                .make_engine = options.make_engine,
                                                .with_nanoflann = options.with_nanoflann,
                                                .ticks = options.ticks});
    if (options.json) {
      out << (first ? "\n" : ",\n");
      write_json(figures, out);
    } else {
      write_row(figures, out);
    }
    first = false;
  }
  if (options.json) out << "\n]\n";
}

}  // namespace starling::bench
