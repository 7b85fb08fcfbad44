// SPDX-License-Identifier: Apache-2.0
// The table of the server workloads, and the format of their rows: see server_bench.hpp.
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

/// Returns the figures of a row, followed by the figures that end every row.
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
      {"updates", "acknowledged updates: 100k objects, batches of 1,000, a tick every 100 ms",
       run_updates},
      {"updates-wgs84", "as updates, in wgs84", run_updates_wgs84},
      {"tick",
       "W3 (50k objects, 20 % move, 2k queries, k 8): from the first update sent until the "
       "subscriber holds all lists",
       run_tick},
      {"questions",
       "one GetNeighbors request at a time on W3, with 500k updates/s and a tick every 250 ms",
       run_questions},
      {"standing", "as tick, with 50k queries and 30k objects that all move", run_standing},
      {"subscribers",
       "1,000 subscribers of 100 streams of W3, a tick every 100 ms, 100k updates/s: from the tick "
       "to the last subscriber",
       run_subscribers},
      {"fan-out",
       "1,000 subscribers of one stream of 20 queries (W3, k 8), 10 ticks per second or --rate, "
       "100k updates/s: from the tick to the last subscriber; runs only when named",
       run_fan_out, false},
      {"vectors",
       "100k vectors of 128 components, L2, 1 % change, 100 queries, k 10, 10 ticks per second: "
       "from the first update sent until the subscriber holds all lists; each tick is compared "
       "with an oracle",
       run_vectors},
      {"million",
       "1M objects that all move, 100k queries, k 10, 10 ticks per second or --rate; runs only "
       "when named",
       run_million, false},
      {"views",
       "1M and 100k objects that all move 1 and 10 times a second or at --rate, and one view over "
       "a "
       "WebSocket; --view-ticks-per-s also sets the ticks; runs only when named",
       run_views, false},
      {"soak",
       "questions, with updates at --share of the capacity; one row per minute; runs only when "
       "named",
       run_soak, false},
  };
  return all;
}

std::string server_figures_help() {
  return "Each workload starts its own server. Clients run in this process, over loopback TCP.\n"
         "Figures whose names need a word:\n"
         "  latency_*         time of a tick, a question or a publication, as the workload says\n"
         "  engine_median_ms  the part of it for the engine's index, search and comparison\n"
         "  first_ms          the first tick: all objects are new, and all lists are reported\n"
         "  echo_*            round trips of ZeroMQ alone on this machine, before the load\n"
         "  view_mib          what readers of views (--view-readers) got, all together\n"
         "  event_mib         what readers of events (--event-readers) got, all together\n"
         "  lost              messages that a subscriber did not get or could not read\n"
         "  spread_*          of a tick's messages: from the first subscriber's to the last one's\n"
         "  join_s            from the first connect until a tick has reached all subscribers\n"
         "  mb_per_s          of the messages that all subscribers together got\n"
         "  server_cpu_cores  processor time of the server / elapsed time\n"
         "  client_cpu_cores  the same for the clients; if both together use all cores, the\n"
         "                    server would have more with clients on another machine\n"
         "  server_rss_mib    memory of the server at the end\n"
         "  server_hwm_mib    the most memory that the server had\n"
         "For vectors, whose ticks are advanced on request at a steady pace:\n"
         "  overruns          ticks whose lists had not arrived when the next tick was due\n"
         "  lists_checked     the subscriber's lists of all ticks, each compared with the\n"
         "                    oracle's; a difference ends the run\n"
         "For views: views-raster shows 1M objects as a raster, views-part a tenth of them and\n"
         "views-points 100k objects; the view asks for at most 10 MB a second:\n"
         "  first_ms          from the request of the view until its first message\n"
         "  interval_max_ms   the longest time between two messages of the view\n"
         "  age_*             from the time of a message's tick until the message is read\n"
         "  mb_per_s          of the messages of the view\n"
         "For million; its 8 producers send batches of 5,000, evenly over the period of a tick,\n"
         "with the objects in the same order each time. Means per tick if nothing else is said:\n"
         "  rate_hz           ticks per second, and updates of each object per second\n"
         "  overruns          ticks skipped because the tick before was not finished\n"
         "  latency_*         time of an update: from sending its batch until the subscriber has\n"
         "                    read every list of the first tick that began after the batch was\n"
         "                    answered; waiting for that tick takes up to one period\n"
         "  tick_*            from the time of the tick until all subscribers have read all lists\n"
         "  bare_zmq_p50_ms   what ZeroMQ alone takes for the same bytes, measured after the load\n"
         "  interval_p99_ms   99th percentile of the time from one tick to the next\n"
         "  decode_ms         verifying, reading and rounding requests\n"
         "  apply_ms          putting them into the tables, on the loop or beside it\n"
         "  copy_in_ms, build_ms, search_ms, diff_ms, copy_out_ms\n"
         "                    the engine's stages, as in starling bench tick\n"
         "  report_ms         sorting the lists by stream, on the loop\n"
         "  total_ms          from the begin of the tick to the end of report_ms\n"
         "  publish_ms        from then until the results socket has the message of the tick\n"
         "  encode_ms         the part of publish_ms that makes the message\n"
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
