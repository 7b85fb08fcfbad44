// Two runs that lie in their folders, side by side: as a table of text, and as a page with both
// runs' plots.
#pragma once

#include <string>
#include <vector>

namespace starling::sim::city {

struct ComparedRow {
  std::string key;
  std::string left;  ///< as the run's summary.json has it; empty: not there
  std::string right;
  std::string change;  ///< right minus left, and per cent of left; empty where they are no numbers
};

struct Comparison {
  std::string left;  ///< the folders
  std::string right;
  std::vector<ComparedRow> settings;  ///< those that differ
  std::vector<ComparedRow> results;
};

/// Throws std::runtime_error if a folder holds no run.
Comparison compare_runs(const std::string& left, const std::string& right);

std::string comparison_table(const Comparison& comparison);

/// With the plots out of both runs' report.html.
std::string comparison_page(const Comparison& comparison);

}  // namespace starling::sim::city
