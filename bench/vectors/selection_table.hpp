// SPDX-License-Identifier: Apache-2.0
// `starling bench selection`: measures how long a device takes to select the k smallest numbers of
// each row of a matrix. Prints published times beside ours, as text or JSON. Called by
// apps/bench.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace starling::bench {

struct SelectionTableOptions {
  std::string engine_name;  ///< the name that the heading shows
  int runs = 20;
  bool json = false;
  bool serial = false;  ///< also measures std::nth_element on one core
  /// Measures `runs` runs on a matrix of this shape and returns the milliseconds of each run. Each
  /// run selects from other numbers. Some lists of the last run are checked.
  std::function<std::vector<double>(std::uint32_t rows, std::uint32_t columns, std::uint32_t k,
                                    int runs)>
      time_ms;
  double read_gb_per_s = 0;  ///< the measured read rate of the device's memory
};

/// Returns the meaning of each column and JSON field, for --help.
std::string selection_figures_help();

void write_selection_table(const SelectionTableOptions& options, std::ostream& out);

}  // namespace starling::bench
