// SPDX-License-Identifier: Apache-2.0
// Lists the shapes with their published times, and prints the rows: see selection_table.hpp.
// Measured times come from SelectionTableOptions::time_ms, which apps/bench.cpp sets.
#include "starling/bench/vectors/selection_table.hpp"

#include <ostream>

#include "starling/bench/format.hpp"
#include "starling/knn/base/percentile.hpp"

namespace starling::bench {
namespace {

constexpr std::uint32_t matrix_rows = 8'192;

/// A shape and the times to print beside ours; 0: not given. c2050_ms is from Komarov et al. 2014,
/// table 2, measured on a Tesla C2050. The paper states no unit; only ms agrees with the bandwidth
/// of that GPU. library_ms is the time of the best library on one H200. reach_ms and aim_ms are our
/// targets.
struct SelectionRow {
  std::uint32_t columns;
  std::uint32_t k;
  double c2050_ms;
  double library_ms;
  double reach_ms;
  double aim_ms;
};
constexpr SelectionRow selection_rows[] = {
    {1u << 13, 64, 138.03, 0, 0, 0},   {1u << 13, 512, 159.35, 0, 0, 0},
    {1u << 14, 64, 163.55, 0, 0, 0},   {1u << 14, 512, 185.91, 0, 0, 0},
    {1u << 15, 64, 208.83, 0, 0, 0},   {1u << 15, 512, 232.10, 0, 0, 0},
    {1u << 16, 64, 288.44, 0, 0, 0},   {1u << 16, 512, 311.8, 0, 0, 0},
    {1u << 18, 64, 0, 4.41, 3.5, 2.4}, {1u << 18, 512, 0, 19.7, 6, 3},
};

std::string ms_cell(double ms) {
  return ms > 0 ? format(ms < 10 ? "%.3f" : "%.2f", ms) : "-";
}

void write_json(const SelectionRow& row, double ms, double floor_ms, std::ostream& out) {
  out << format(
      "{\"rows\":%u,\"columns\":%u,\"k\":%u,\"c2050_ms\":%g,\"library_ms\":%g,\"reach_ms\":%g,"
      "\"aim_ms\":%g,\"device_ms\":%.6g,\"floor_ms\":%.6g}\n",
      matrix_rows, row.columns, row.k, row.c2050_ms, row.library_ms, row.reach_ms, row.aim_ms, ms,
      floor_ms);
}

void write_text(const SelectionRow& row, double ms, double floor_ms, std::ostream& out) {
  out << format("%9u %9u %6u %9s %9s %9s %9s %9s %9s %6.2f\n", matrix_rows, row.columns, row.k,
                ms_cell(row.c2050_ms).c_str(), ms_cell(row.library_ms).c_str(),
                ms_cell(row.reach_ms).c_str(), ms_cell(row.aim_ms).c_str(), ms_cell(ms).c_str(),
                ms_cell(floor_ms).c_str(), ms / floor_ms);
}

}  // namespace

std::string selection_figures_help() {
  return "The numbers are random, lie on the device before the measurement, and differ in each\n"
         "run. The times are milliseconds, medians:\n"
         "  rows, columns, k\n"
         "              the matrix; the k smallest numbers of each row are selected and sorted\n"
         "  C2050       Komarov et al. 2014, table 2 (the paper states no unit; only ms agrees\n"
         "              with the bandwidth of that GPU)\n"
         "  best lib.   the best of FAISS 1.15, cuVS 25.10 and PyTorch 2.11 on one H200\n"
         "  reach, aim  targets\n"
         "  device      quick multi-select here, device time\n"
         "  floor       the time to read the matrix once, at a speed measured at the start\n"
         "  ratio       device / floor\n"
         "'-': not given. JSON has one object per row, with 0 for times that are not given.";
}

void write_selection_table(const SelectionTableOptions& options, std::ostream& out) {
  if (!options.json)
    out << format("engine %s; milliseconds, medians over %d runs; %.0f GB/s read\n",
                  options.engine_name.c_str(), options.runs, options.read_gb_per_s)
        << format("%9s %9s %6s %9s %9s %9s %9s %9s %9s %6s\n", "rows", "columns", "k", "C2050",
                  "best lib.", "reach", "aim", "device", "floor", "ratio");
  for (const SelectionRow& row : selection_rows) {
    const double ms = median(options.time_ms(matrix_rows, row.columns, row.k, options.runs));
    const double bytes = static_cast<double>(matrix_rows) * row.columns * sizeof(float);
    const double floor_ms = bytes / options.read_gb_per_s / 1e6;
    options.json ? write_json(row, ms, floor_ms, out) : write_text(row, ms, floor_ms, out);
    out.flush();
  }
}

}  // namespace starling::bench
