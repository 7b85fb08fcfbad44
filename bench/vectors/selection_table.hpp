// SPDX-License-Identifier: Apache-2.0
// `starling bench selection`: measures the selection of the k smallest numbers of each matrix row,
// and prints published times beside ours, as text or JSON. Called by apps/bench.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace starling::bench {

struct SelectionTableOptions {
  std::string engine_name;  ///< for the heading only
  int runs = 20;
  bool json = false;
  /// Returns the milliseconds of `runs` runs of this shape. Each run selects from other numbers,
  /// and the result of each run is checked.
  std::function<std::vector<double>(std::uint32_t rows, std::uint32_t columns, std::uint32_t k,
                                    int runs)>
      time_ms;
  double read_gb_per_s = 0;  ///< the measured read rate of the device's memory
};

/// Returns the meaning of each column and JSON field, for --help.
std::string selection_figures_help();

void write_selection_table(const SelectionTableOptions& options, std::ostream& out);

}  // namespace starling::bench
