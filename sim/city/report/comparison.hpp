// SPDX-License-Identifier: Apache-2.0
// Compares two runs, which are read from their folders. The result is a text table, or an HTML page
// with the plots of both runs. `starling simulate --compare` uses these functions.
#pragma once

#include <string>
#include <vector>

#include "starling/sim/city/report/html_page.hpp"

namespace starling::sim::city {

struct ComparedRow {
  std::string key;
  std::string left;  ///< value in the first run's summary.json; empty if the key is missing
  std::string right;
  std::string change;  ///< right - left, also in per cent of left; empty if either is not a number
};

struct Comparison {
  std::string left;                   ///< folder of the first run
  std::string right;                  ///< folder of the second run
  std::vector<ComparedRow> settings;  ///< only settings that differ
  std::vector<ComparedRow> results;
};

/// Reads both runs. Throws std::runtime_error if a folder holds no run.
Comparison compare_runs(const std::string& left, const std::string& right);

std::string comparison_table(const Comparison& comparison);

/// Returns the comparison as an HTML page, with the plots from both runs' report.html. Throws
/// std::runtime_error if one of these files has no plots.
std::string comparison_page(const Comparison& comparison, const PlotScript& script);

}  // namespace starling::sim::city
