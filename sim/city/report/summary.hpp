// What a run came to, in the figures that the field compares by. Everything here follows from the
// run's settings; what differs from run to run is in timings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// A figure with its name in summary.json, in words, and the decimals that it is written with.
struct Figure {
  std::string key;
  std::string title;
  double value = 0;
  int decimals = 0;
};

/// A setting of the run, as it was chosen.
struct Setting {
  std::string key;
  std::string value;
  bool is_number = false;
};

struct RunSummary {
  std::vector<Setting> settings;
  std::vector<Figure> figures;
};

std::vector<Figure> find_figures(const Simulation& simulation);

/// With so many decimals.
std::string format_number(double value, int decimals);

struct TimingShares {
  double wall_s = 0;
  double simulated_s = 0;
  double movement = 0;  ///< shares of wall_s
  double engine = 0;
  double matcher = 0;
  double other = 0;
  double waiting_mean = 0;  ///< riders whom the policy was asked to find a driver for, a period
  std::uint64_t ticks = 0;

  double times_real_time() const { return wall_s > 0 ? simulated_s / wall_s : 0; }
};

TimingShares find_shares(const Simulation& simulation, double wall_s);

}  // namespace starling::sim::city
