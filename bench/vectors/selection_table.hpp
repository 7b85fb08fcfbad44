// `starling bench selection`: the k least of each row of a matrix, alone, beside what was
// published; as text or JSON.
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
  /// Milliseconds of `runs` runs of such a shape, each of other numbers and checked.
  std::function<std::vector<double>(std::uint32_t rows, std::uint32_t columns, std::uint32_t k,
                                    int runs)>
      time_ms;
  double read_gb_per_s = 0;  ///< of memory, measured
};

/// What each column and JSON field says, for --help.
std::string selection_figures_help();

void write_selection_table(const SelectionTableOptions& options, std::ostream& out);

}  // namespace starling::bench
