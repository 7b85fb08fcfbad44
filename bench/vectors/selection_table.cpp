// SPDX-License-Identifier: Apache-2.0
// Lists the shapes with their published times, and prints the rows: see selection_table.hpp.
// Measured times come from SelectionTableOptions::time_ms, which apps/bench.cpp sets.
#include "starling/bench/vectors/selection_table.hpp"

#include <array>
#include <cstddef>
#include <ostream>
#include <vector>

#include "starling/bench/format.hpp"
#include "starling/bench/vectors/serial_search.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

/// A shape and the times to print beside ours; 0: not given. c2050_ms is from Komarov et al. 2014,
/// measured on a Tesla C2050. The paper states no unit; only ms agrees with the bandwidth of that
/// GPU. library_ms is the time of the best library on one H200. reach_ms and aim_ms are our
/// targets.
struct SelectionRow {
  const char* source;  ///< the table or figure of the paper
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t k;
  double c2050_ms = 0;
  double library_ms = 0;
  double reach_ms = 0;
  double aim_ms = 0;
};

// The paper draws the times of its figures and gives no numbers. For each figure, the shapes here
// are the smallest, the largest, and some between.
std::vector<SelectionRow> selection_rows() {
  constexpr auto two_to = [](unsigned power) { return std::uint32_t{1} << power; };
  std::vector<SelectionRow> rows;
  const auto table_2 = [&](unsigned power, std::array<double, 4> c2050_ms) {
    for (std::size_t i = 0; i < c2050_ms.size(); ++i)
      rows.push_back({"tab. 2", two_to(13), two_to(power), 64u << i, c2050_ms[i]});
  };
  table_2(13, {138.03, 144.4, 151.36, 159.35});
  table_2(14, {163.55, 170.04, 177.27, 185.91});
  table_2(15, {208.83, 215.3, 222.97, 232.10});
  table_2(16, {288.44, 294.85, 302.34, 311.8});
  rows.push_back({"fig. 5", two_to(13), two_to(18), 64, 0, 4.41, 3.5, 2.4});
  rows.push_back({"fig. 5", two_to(13), two_to(18), 512, 0, 19.7, 6, 3});
  for (const unsigned power : {14u, 15u, 16u})
    for (const std::uint32_t k : {64u, 512u})
      rows.push_back({"fig. 6", two_to(power), two_to(16), k});
  for (const unsigned power : {12u, 14u, 17u, 20u, 23u})
    for (const std::uint32_t k : {2u, 512u})
      rows.push_back({"fig. 7", two_to(27 - power), two_to(power), k});
  for (const unsigned power : {15u, 18u, 21u, 23u})
    for (const std::uint32_t k : {2u, 1024u})
      rows.push_back({"fig. 8", two_to(28 - power), two_to(power), k});
  for (const unsigned power : {3u, 5u, 7u, 8u})
    rows.push_back({"fig. 9", two_to(power), two_to(20), 64});
  for (const unsigned power : {16u, 18u, 20u})
    for (const std::uint32_t k : {2u, 1024u})
      rows.push_back({"fig. 10", two_to(8), two_to(power), k});
  return rows;
}

std::string ms_cell(double ms) {
  return ms > 0 ? format(ms < 10 ? "%.3f" : "%.2f", ms) : "-";
}

struct Times {
  double device_ms = 0;
  double floor_ms = 0;
  double one_core_ms = 0;  ///< 0: not measured
};

void write_json(const SelectionRow& row, const Times& times, std::ostream& out) {
  out << format(
      "{\"of\":\"%s\",\"rows\":%u,\"columns\":%u,\"k\":%u,\"c2050_ms\":%g,\"library_ms\":%g,"
      "\"reach_ms\":%g,\"aim_ms\":%g,\"one_core_ms\":%.6g,\"device_ms\":%.6g,\"floor_ms\":%.6g}\n",
      row.source, row.rows, row.columns, row.k, row.c2050_ms, row.library_ms, row.reach_ms,
      row.aim_ms, times.one_core_ms, times.device_ms, times.floor_ms);
}

void write_text(const SelectionRow& row, const Times& times, std::ostream& out) {
  out << format("%8s %9u %9u %6u %9s %9s %9s %9s %9s %9s %9s %6.2f\n", row.source, row.rows,
                row.columns, row.k, ms_cell(row.c2050_ms).c_str(), ms_cell(row.library_ms).c_str(),
                ms_cell(row.reach_ms).c_str(), ms_cell(row.aim_ms).c_str(),
                ms_cell(times.one_core_ms).c_str(), ms_cell(times.device_ms).c_str(),
                ms_cell(times.floor_ms).c_str(), times.device_ms / times.floor_ms);
}

}  // namespace

std::string selection_figures_help() {
  return "The numbers are random, lie on the device before the measurement, and differ in each\n"
         "run. The times are milliseconds, medians:\n"
         "  of          the table or figure of Komarov et al. 2014 that has the shape\n"
         "  rows, columns, k\n"
         "              the matrix; the k smallest numbers of each row are selected and sorted\n"
         "  C2050       the paper's time (it states no unit; only ms agrees with the bandwidth of\n"
         "              that GPU)\n"
         "  best lib.   the best of FAISS 1.15, cuVS 25.10 and PyTorch 2.11 on one H200\n"
         "  reach, aim  targets\n"
         "  1 core      with --serial: std::nth_element and a sort on one core of this machine;\n"
         "              computed from the rows that a second is enough for\n"
         "  device      quick multi-select here, device time\n"
         "  floor       the time to read the matrix once, at a speed measured at the start\n"
         "  ratio       device / floor\n"
         "'-': not given. JSON has one object per row, with 0 for times that are not given.";
}

void write_selection_table(const SelectionTableOptions& options, std::ostream& out) {
  if (!options.json)
    out << format("engine %s; milliseconds, medians over %d runs; %.0f GB/s read\n",
                  options.engine_name.c_str(), options.runs, options.read_gb_per_s)
        << format("%8s %9s %9s %6s %9s %9s %9s %9s %9s %9s %9s %6s\n", "of", "rows", "columns", "k",
                  "C2050", "best lib.", "reach", "aim", "1 core", "device", "floor", "ratio");
  for (const SelectionRow& row : selection_rows()) {
    Times times;
    times.device_ms = median(options.time_ms(row.rows, row.columns, row.k, options.runs));
    const double bytes = static_cast<double>(row.rows) * row.columns * sizeof(float);
    times.floor_ms = bytes / options.read_gb_per_s / 1e6;
    if (options.serial) times.one_core_ms = serial_selection_ms(row.rows, row.columns, row.k);
    options.json ? write_json(row, times, out) : write_text(row, times, out);
    out.flush();
  }
}

}  // namespace starling::bench
