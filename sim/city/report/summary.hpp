// SPDX-License-Identifier: Apache-2.0
// Sums up a run in the figures that the field uses. The figures depend only on the run's settings.
// Wall-clock times also depend on the machine, so TimingShares holds them separately. summary.json,
// report.html and the terminal show the figures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// One number of the results, with its names.
struct Figure {
  std::string key;    ///< name in summary.json
  std::string title;  ///< name in the report
  double value = 0;
  int decimals = 0;  ///< number of decimals to write
};

struct Setting {
  std::string key;
  std::string value;
  bool is_number = false;
};

struct RunSummary {
  std::vector<Setting> settings;
  std::vector<Figure> figures;
};

/// Computes all figures of a finished run.
std::vector<Figure> find_figures(const Simulation& simulation);

/// Returns the value in decimal notation, with `decimals` decimals.
std::string format_number(double value, int decimals);

/// How the wall-clock time of a run is divided.
struct TimingShares {
  double wall_s = 0;
  double simulated_s = 0;
  double movement = 0;  ///< share of wall_s; `engine`, `matcher` and `other` are shares, too
  double engine = 0;
  double matcher = 0;
  double other = 0;
  double waiting_mean = 0;  ///< mean number of riders per period that the policy had to serve
  std::uint64_t ticks = 0;

  double times_real_time() const { return wall_s > 0 ? simulated_s / wall_s : 0; }
};

/// Computes the shares of a finished run that took `wall_s`.
TimingShares find_shares(const Simulation& simulation, double wall_s);

}  // namespace starling::sim::city
