// SPDX-License-Identifier: Apache-2.0
// Chooses the workloads and prints their figures: see pipeline_table.hpp.
#include "starling/bench/ticks/pipeline_table.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "starling/bench/format.hpp"

namespace starling::bench {
namespace {

void write_head(const std::string& engine_name, std::ostream& out) {
  out << format("engine %s; microseconds, medians\n", engine_name.c_str());
  out << format("%-16s %6s %9s %9s %9s %9s %9s %9s %8s %8s %6s %6s %7s %7s %6s\n", "workload",
                "ticks", "latency", "p99", "period", "copy in", "device", "copy out", "MB in",
                "MB out", "GB/s", "GB/s", "per/max", "lat/sum", "hidden");
}

void write_row(const PipelineFigures& f, std::ostream& out) {
  out << format(
             "%-16s %6d %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %8.2f %8.2f %6.1f %6.1f %7.2f %7.2f "
             "%6.3f",
             f.workload.c_str(), f.ticks, f.latency_p50_us, f.latency_p99_us, f.period_us,
             f.copy_in_us, f.device_us, f.copy_out_us, f.bytes_in / 1e6, f.bytes_out / 1e6,
             f.copy_in_gb_per_s(), f.copy_out_gb_per_s(), f.period_ratio(), f.latency_ratio(),
             f.hidden_share())
      << std::endl;
}

void write_json(const PipelineFigures& f, std::ostream& out) {
  out << format(
             "{\"workload\":\"%s\",\"ticks\":%d,\"latency_p50_us\":%.2f,\"latency_p99_us\":%.2f,"
             "\"period_us\":%.2f,\"copy_in_us\":%.2f,\"device_us\":%.2f,\"copy_out_us\":%.2f,"
             "\"bytes_in\":%.0f,\"bytes_out\":%.0f,\"copy_in_gb_per_s\":%.3f,"
             "\"copy_out_gb_per_s\":%.3f,\"period_ratio\":%.4f,\"latency_ratio\":%.4f,"
             "\"hidden_share\":%.4f}",
             f.workload.c_str(), f.ticks, f.latency_p50_us, f.latency_p99_us, f.period_us,
             f.copy_in_us, f.device_us, f.copy_out_us, f.bytes_in, f.bytes_out,
             f.copy_in_gb_per_s(), f.copy_out_gb_per_s(), f.period_ratio(), f.latency_ratio(),
             f.hidden_share())
      << std::flush;
}

std::vector<WorkloadOptions> choose(const std::vector<std::string>& names) {
  if (names.empty()) return pipeline_workloads();
  std::vector<WorkloadOptions> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(pipeline_workloads(), name, &WorkloadOptions::name);
    if (found == pipeline_workloads().end())
      throw std::invalid_argument("there is no workload '" + name + "'");
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace

std::string pipeline_figures_help() {
  return "Measures the engine alone, without tables, lattice and server: from rows in its staging\n"
         "memory to reported lists in host memory. The measuring thread never sleeps and occupies\n"
         "one core. The columns are medians over the ticks, in microseconds if nothing else is\n"
         "said:\n"
         "  ticks     the measured ticks of each kind: one at a time, and in bursts in which each\n"
         "            tick starts as soon as the engine accepts it\n"
         "  latency   one tick at a time, from begin_tick to the call with its result\n"
         "  p99       99th percentile of the latency\n"
         "  period    from result to result in a burst, without the first two; the median of the\n"
         "            bursts. An engine that runs one tick at a time has no overlap\n"
         "  copy in   copying the rows to the GPU and applying them there, one tick at a time.\n"
         "            The engine measures this column and the next two\n"
         "  device    build, search and diff\n"
         "  copy out  copying the reports from the GPU\n"
         "  MB in     the rows of a tick, 32 bytes each\n"
         "  MB out    the reported lists, their neighbours and states\n"
         "  GB/s      MB in / copy in, then MB out / copy out; 0 if there is no copy\n"
         "  per/max   period / the largest of copy in, device and copy out\n"
         "  lat/sum   latency / the sum of copy in, device and copy out\n"
         "  hidden    the share of the two shorter of these three that overlaps the longest:\n"
         "            1 - (period - longest) / (sum - longest), from 0 to 1; 1 without copies";
}

void write_pipeline_table(const PipelineTableOptions& options, std::ostream& out) {
  const std::vector<WorkloadOptions> chosen = choose(options.workloads);
  if (options.json)
    out << '[';
  else
    write_head(options.engine_name, out);
  const char* separator = "\n";
  for (const WorkloadOptions& workload : chosen) {
    const PipelineFigures figures = run_pipeline_bench(
        {.workload = workload, .make_engine = options.make_engine, .ticks = options.ticks});
    if (options.json) {
      out << std::exchange(separator, ",\n");
      write_json(figures, out);
    } else {
      write_row(figures, out);
    }
  }
  if (options.json) out << "\n]\n";
}

}  // namespace starling::bench
