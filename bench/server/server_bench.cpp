// The table of server workloads and the form of their rows: see server_bench.hpp.
#include "starling/bench/server/server_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <stdexcept>

#include "starling/bench/server/server_workloads.hpp"

namespace starling::bench {
namespace {

std::string number(double value) {
  char text[64];
  const bool is_large = value >= 1000 || value == static_cast<double>(static_cast<long>(value));
  std::snprintf(text, sizeof text, is_large ? "%.0f" : "%.3g", value);
  return text;
}

/// What every row ends with.
std::vector<Figure> all_figures(const ServerFigures& row) {
  std::vector<Figure> figures = row.figures;
  figures.insert(figures.end(), {{"server_cpu_cores", row.server_cpu},
                                 {"client_cpu_cores", row.client_cpu},
                                 {"server_rss_mib", row.memory.rss_mib},
                                 {"server_hwm_mib", row.memory.hwm_mib}});
  return figures;
}

void write_row(const ServerFigures& row, std::ostream& out) {
  std::string name = row.workload;
  name.resize(std::max<std::size_t>(name.size(), 14), ' ');
  out << name;
  for (const Figure& figure : all_figures(row))
    out << "  " << figure.name << ' ' << number(figure.value);
  out << std::endl;
}

void write_json(const ServerFigures& row, std::ostream& out) {
  out << "{\"workload\":\"" << row.workload << '"';
  for (const Figure& figure : all_figures(row)) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", figure.value);
    out << ",\"" << figure.name << "\":" << text;
  }
  out << '}' << std::flush;
}

const ServerWorkload& find(const std::string& name) {
  for (const ServerWorkload& workload : server_workloads())
    if (workload.name == name) return workload;
  throw std::invalid_argument("there is no server workload '" + name + "'");
}

}  // namespace

const std::vector<ServerWorkload>& server_workloads() {
  static const std::vector<ServerWorkload> all = {
      {"updates", "acknowledged updates, 100k objects, batches of 1,000, a tick each 100 ms",
       run_updates},
      {"updates-wgs84", "the same in wgs84", run_updates_wgs84},
      {"tick",
       "W3 (50k objects, 20 % move, 2k queries, k 8): first update sent to all lists held by the "
       "subscriber",
       run_tick},
      {"questions",
       "one GetNeighbors at a time on W3, while 500k updates/s stream in and ticks run each 250 ms",
       run_questions},
      {"standing", "tick with 50k queries and 30k objects that all move", run_standing},
      {"subscribers",
       "1,000 of them on 100 streams of W3, a tick each 100 ms, 100k updates/s: from the tick to "
       "the last subscriber",
       run_subscribers},
      {"vectors",
       "100k vectors of 128 components, L2, 1 % of which change, 100 queries, k 10, 10 ticks a "
       "second: first update sent to all lists held by the subscriber, each tick compared with an "
       "oracle",
       run_vectors},
      {"million",
       "1M objects that all move, 100k queries, k 10, 10 ticks a second or --rate; only when named",
       run_million, false},
      {"soak",
       "questions while updates stream in at --share of the capacity, a row a minute; only when "
       "named",
       run_soak, false},
  };
  return all;
}

std::string server_figures_help() {
  return "A server of its own for each workload, clients in this process, loopback TCP.\n"
         "Figures, beside those that say what they are:\n"
         "  latency_*         of a tick, a question or a publication, as the workload says\n"
         "  engine_median_ms  of it the engine's index, search and comparison\n"
         "  first_ms          the first tick: all objects are new and all lists are reported\n"
         "  echo_*            round trips of ZeroMQ alone, before the load: the machine's share\n"
         "  lost              messages that a subscriber did not get, or could not read\n"
         "  server_cpu_cores  processor time of the server by the clock's time\n"
         "  client_cpu_cores  the same of the clients; where both together are all cores there\n"
         "                    are, a client on another machine would leave the server more\n"
         "  server_rss_mib    the server's memory at the end; hwm: at most\n"
         "Of vectors, whose ticks are advanced on request at a steady pace:\n"
         "  overruns          ticks whose lists were not held when the next one was due\n"
         "  lists_checked     lists held by the subscriber, of all ticks together, that were\n"
         "                    compared with the oracle's: one that differs ends the run\n"
         "Of million, whose 8 producers send batches of 5,000, evenly over a tick's period and "
         "their\n"
         "objects in the same order each time; means a tick unless they say otherwise:\n"
         "  rate_hz           ticks a second, and updates of each object\n"
         "  overruns          ticks skipped because the one before was not finished\n"
         "  latency_*         of an update: from its batch sent until the subscriber has read "
         "every\n"
         "                    list of the first tick that began after the batch was answered; up "
         "to\n"
         "                    a period of it is waiting for that tick\n"
         "  tick_*            from the tick's instant until the subscriber has read all its lists\n"
         "  interval_p99_ms   99th percentile of the time from one tick's instant to the next\n"
         "  decode_ms         verifying, reading and rounding requests\n"
         "  apply_ms          putting them into the tables, on the server's loop\n"
         "  copy_in_ms, build_ms, search_ms, diff_ms, copy_out_ms\n"
         "                    the engine's stages, as in starling bench tick\n"
         "  report_ms         sorting its lists by stream, on the loop\n"
         "  total_ms          the tick from its begin to the end of that\n"
         "  publish_ms        from there until the results socket has the tick's message\n"
         "  encode_ms         of that, making it\n"
         "  transport_ms      from the results socket until the subscriber has read all lists";
}

void run_server_bench(const ServerBenchOptions& options, std::ostream& out) {
  std::vector<ServerWorkload> chosen;
  chosen.reserve(options.workloads.size());
  for (const std::string& name : options.workloads) chosen.push_back(find(name));
  if (chosen.empty())
    for (const ServerWorkload& workload : server_workloads())
      if (workload.runs_unasked) chosen.push_back(workload);
  bool is_first = true;
  if (options.json) out << '[';
  for (const ServerWorkload& workload : chosen)
    workload.run(options, [&](const ServerFigures& row) {
      if (options.json) {
        out << (is_first ? "\n" : ",\n");
        write_json(row, out);
      } else {
        write_row(row, out);
      }
      is_first = false;
    });
  if (options.json) out << "\n]\n";
}

}  // namespace starling::bench
