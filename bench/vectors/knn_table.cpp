// SPDX-License-Identifier: Apache-2.0
// Chooses the shapes and prints their figures: see knn_table.hpp.
#include "starling/bench/vectors/knn_table.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "starling/bench/format.hpp"
#include "starling/bench/vectors/knn_bench.hpp"
#include "starling/bench/vectors/paper_tables.hpp"
#include "starling/bench/vectors/serial_search.hpp"

namespace starling::bench {
namespace {

struct MethodTime {
  SearchMethod method;
  std::optional<KnnTime> time;  ///< std::nullopt: the searcher does not support the method
};

struct Figures {
  KnnShape shape;
  std::string source;
  std::vector<double> published_ms;
  /// One time for each of serial_selections; empty if not measured.
  std::vector<SerialTime> serial;
  std::vector<MethodTime> times;  ///< the paper's methods, then automatic
  KnnFloor floor;
};

std::vector<PaperRow> choose(const PaperTable& table, const KnnTableOptions& options) {
  std::vector<PaperRow> chosen = table.rows;
  if (!options.shapes.empty()) {
    chosen.clear();
    for (const std::size_t number : options.shapes) {
      if (number < 1 || number > table.rows.size())
        throw std::invalid_argument(format("--shapes: table %s has no row %zu, only 1 to %zu",
                                           table.name.c_str(), number, table.rows.size()));
      chosen.push_back(table.rows[number - 1]);
    }
  }
  // Published times are for the full size. Beside times of another size they would mislead, so they
  // are dropped.
  for (PaperRow& row : chosen) {
    if (options.scale == 1) continue;
    row.shape = scaled(row.shape, options.scale);
    std::ranges::fill(row.published_ms, 0.0);
  }
  return chosen;
}

std::vector<SearchMethod> methods_of(const PaperTable& table) {
  std::vector<SearchMethod> methods = table.methods;
  methods.push_back(SearchMethod::automatic);
  return methods;
}

Figures measure(const PaperRow& row, const PaperTable& table, bool serial, const DeviceRates& rates,
                KnnBench& bench) {
  Figures figures{row.shape, row.source, row.published_ms, {}, {}, floor_of(row.shape, rates)};
  bench.set_shape(row.shape);
  if (serial)
    for (const SerialSelection selection : serial_selections)
      figures.serial.push_back(bench.measure_serial(selection));
  for (const SearchMethod method : methods_of(table))
    figures.times.push_back({method, bench.measure(method)});
  return figures;
}

/// Returns the number with fewer decimal places for longer times, or '-' if the time is not known.
std::string ms_text(double ms) {
  if (ms <= 0) return "-";
  return format(ms < 1      ? "%.4f"
                : ms < 10   ? "%.3f"
                : ms < 100  ? "%.2f"
                : ms < 1000 ? "%.1f"
                            : "%.0f",
                ms);
}

std::string ratio_text(double ms, double floor_ms) {
  return floor_ms > 0 ? format("%.2f", ms / floor_ms) : "-";
}

using Cells = std::vector<std::string>;

void write_cells(const Cells& cells, const Cells& heads, std::ostream& out) {
  constexpr std::size_t width_min = 9;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out << format(i == 0 ? "%*s" : " %*s", static_cast<int>(std::max(heads[i].size(), width_min)),
                  cells[i].c_str());
  out << std::endl;
}

Cells heads_of(const PaperTable& table, bool serial) {
  Cells heads{"rows", "d", "queries", "k", "metric", "of"};
  heads.insert(heads.end(), table.published.begin(), table.published.end());
  if (serial)
    for (const SerialSelection selection : serial_selections)
      heads.push_back("1 core " + std::string(name_of(selection)));
  for (const SearchMethod method : methods_of(table)) {
    const std::string name(name_of(method));
    heads.insert(heads.end(), {name, name + " host", name + " + upload", name + "/floor"});
  }
  heads.insert(heads.end(), {"upload", "floor", "bound by"});
  return heads;
}

Cells cells_of(const Figures& figures) {
  const KnnShape& shape = figures.shape;
  Cells cells{format("%u", shape.rows),
              format("%u", shape.dimension),
              shape.is_graph ? "graph" : format("%u", shape.queries),
              format("%u", shape.k),
              std::string(starling::name_of(shape.metric)),
              figures.source};
  for (const double ms : figures.published_ms) cells.push_back(ms_text(ms));
  for (const SerialTime& time : figures.serial)
    cells.push_back(ms_text(time.ms) +
                    (time.queries < shape.queries ? format("(%u)", time.queries) : ""));
  double upload_ms = 0;  // any method's: the upload does not depend on the method
  for (const auto& [method, time] : figures.times) {
    if (time) upload_ms = time->upload_ms;
    if (!time) {
      cells.insert(cells.end(), {"-", "-", "-", "-"});
      continue;
    }
    const std::string few = time->runs < knn_runs_enough ? format("(%d)", time->runs) : "";
    cells.push_back(time->device_ms > 0 ? ms_text(time->device_ms) + few : "-");
    cells.push_back(ms_text(time->host_ms) + few);
    cells.push_back(ms_text(time->upload_search_ms));
    cells.push_back(ratio_text(time->ms(), figures.floor.ms()));
  }
  cells.push_back(ms_text(upload_ms));
  cells.push_back(ms_text(figures.floor.ms()));
  cells.emplace_back(figures.floor.ms() <= 0                           ? "-"
                     : figures.floor.bytes_ms > figures.floor.steps_ms ? "bytes"
                                                                       : "steps");
  return cells;
}

std::string quoted(std::string_view text) {
  std::string quoted(1, '"');
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string number_or_null(double value) {
  return value > 0 ? format("%.6g", value) : "null";
}

void write_json(const MethodTime& of, double floor_ms, std::ostream& out) {
  const KnnTime time = of.time.value_or(KnnTime{});
  out << "{\"method\":" << quoted(name_of(of.method))
      << ",\"device_ms\":" << number_or_null(time.device_ms)
      << ",\"host_ms\":" << number_or_null(time.host_ms)
      << ",\"upload_ms\":" << number_or_null(time.upload_ms)
      << ",\"upload_search_ms\":" << number_or_null(time.upload_search_ms)
      << ",\"by_floor\":" << number_or_null(floor_ms > 0 ? time.ms() / floor_ms : 0)
      << ",\"runs\":" << time.runs << '}';
}

void write_json(const Figures& figures, const PaperTable& table, std::ostream& out) {
  const KnnShape& shape = figures.shape;
  out << format("{\"rows\":%u,\"dimension\":%u,\"queries\":%u,\"k\":%u,\"is_graph\":%s", shape.rows,
                shape.dimension, shape.queries, shape.k, shape.is_graph ? "true" : "false")
      << ",\"metric\":" << quoted(starling::name_of(shape.metric))
      << ",\"of\":" << quoted(figures.source) << ",\"published_ms\":{";
  const char* separator = "";
  for (std::size_t i = 0; i < figures.published_ms.size(); ++i)
    out << std::exchange(separator, ",") << quoted(table.published[i]) << ':'
        << number_or_null(figures.published_ms[i]);
  out << "},\"one_core_ms\":{";
  separator = "";
  for (std::size_t i = 0; i < figures.serial.size(); ++i)
    out << std::exchange(separator, ",") << quoted(name_of(serial_selections[i])) << ':'
        << number_or_null(figures.serial[i].ms);
  out << "},\"times\":[";
  separator = "";
  for (const MethodTime& of : figures.times) {
    out << std::exchange(separator, ",");
    write_json(of, figures.floor.ms(), out);
  }
  out << "],\"floor_bytes_ms\":" << number_or_null(figures.floor.bytes_ms)
      << ",\"floor_steps_ms\":" << number_or_null(figures.floor.steps_ms) << '}';
}

void write_json_head(const PaperTable& table, const KnnTableOptions& options,
                     const DeviceRates& rates, std::ostream& out) {
  out << "{\"table\":" << quoted(table.name) << ",\"source\":" << quoted(table.source)
      << ",\"engine\":" << quoted(options.engine_name)
      << format(",\"seed\":%llu,\"scale\":%g", static_cast<unsigned long long>(options.seed),
                options.scale)
      << ",\"read_gb_per_s\":" << number_or_null(rates.read_gb_per_s)
      << ",\"steps_per_s\":" << number_or_null(rates.steps_per_s) << ",\"shapes\":[";
}

void write_text_head(const PaperTable& table, const KnnTableOptions& options,
                     const DeviceRates& rates, std::ostream& out) {
  out << format("engine %s; milliseconds, medians; seed %llu\n", options.engine_name.c_str(),
                static_cast<unsigned long long>(options.seed))
      << format("measured here: %.0f GB/s read, %.3g steps/s\n", rates.read_gb_per_s,
                rates.steps_per_s)
      << "published: " << table.source << '\n';
  if (options.scale != 1)
    out << format(
        "rows and queries scaled by %g; published times are of the full size and left out\n",
        options.scale);
  const Cells heads = heads_of(table, options.serial);
  write_cells(heads, heads, out);
}

}  // namespace

std::string knn_figures_help() {
  std::string help =
      "Rows and queries are random; rows are prepared for their metric before the measurement.\n"
      "The columns are milliseconds, medians over 20 runs or the number of runs in brackets:\n"
      "  rows, d, queries, k, metric\n"
      "            the shape; \"graph\" as queries: every row is a query among the others\n"
      "  of        the table or figure of the paper that has the shape\n"
      "  then published times, named after their hardware; '-': not given, only drawn, or of\n"
      "            another size. In `libraries`: the best library on one H200, and two targets\n"
      "  1 core SELECTION\n"
      "            with --serial: a plain program on one core computes all scores of a query,\n"
      "            and sorts them, inserts them into a list of k, or separates the k least. If\n"
      "            all queries take more than a second, the time is that of all, computed from\n"
      "            the number of queries in brackets\n"
      "  NAME      the paper's method here: device time, with corpus and lists on the device;\n"
      "            '-': there is no device, or this engine does not have the method\n"
      "  NAME host host time of the same runs, with the copies of queries and lists\n"
      "  NAME + upload\n"
      "            host time of upload and search together, from rows in host memory to lists\n"
      "            there; median of 3 runs. A search of up to 64 queries begins while rows are on\n"
      "            their way. Published times with transfers compare with this one\n"
      "  NAME/floor\n"
      "            device time (without a device host time) / floor\n"
      "  auto ...  the same four columns for the method that auto chooses for the shape\n"
      "  upload    host time of the upload alone; median of 3 runs. --memory says from where\n"
      "  floor     the larger of two times: to read or write rows, queries and lists once; and to\n"
      "            do rows x queries x d steps, each a subtraction and a fused multiply-add. The\n"
      "            speeds are measured at the start. A method with fewer steps (a filter, one\n"
      "            half of a graph) or with rows in a cache can be faster than the floor\n"
      "  bound by  the larger of the two times: bytes or steps\n"
      "Each run has other queries, except where all rows are the queries (a graph). Its lists are\n"
      "poisoned before it. For every measurement,\n"
      "up to three lists are computed again by the definition and a sort; a difference ends the\n"
      "run.\n"
      "The tables, the numbers of their rows for --shapes, and the columns of published times:";
  for (const PaperTable& table : paper_tables()) {
    help += format("\n  %s: 1 to %zu; ", table.name.c_str(), table.rows.size());
    for (std::size_t i = 0; i < table.published.size(); ++i) {
      help += i > 0 ? ", '" : "'";
      help += table.published[i] + '\'';
    }
    help += "\n            " + table.source;
  }
  return help;
}

void write_knn_table(const KnnTableOptions& options, VectorSearcher& searcher, std::ostream& out) {
  const PaperTable* table = find_paper_table(options.table);
  if (table == nullptr) throw std::invalid_argument("there is no table '" + options.table + "'");
  const std::vector<PaperRow> rows = choose(*table, options);
  const DeviceRates rates = searcher.rates();
  KnnBench bench(searcher, options.seed, options.runs, options.memory);
  if (options.json)
    write_json_head(*table, options, rates, out);
  else
    write_text_head(*table, options, rates, out);
  const char* separator = "\n";
  for (const PaperRow& row : rows) {
    const Figures figures = measure(row, *table, options.serial, rates, bench);
    if (options.json)
      write_json(figures, *table, out << std::exchange(separator, ",\n"));
    else
      write_cells(cells_of(figures), heads_of(*table, options.serial), out);
  }
  if (options.json) out << "\n]}\n";
}

}  // namespace starling::bench
