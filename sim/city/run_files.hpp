// The files of a run: rides.csv, periods.csv, summary.json and report.html, which are the same
// bytes each time, and timings.csv and timings.json, which are not. Either all of them appear or
// none does.
#pragma once

#include <string>

#include "sim/city/simulation.hpp"
#include "sim/city/summary.hpp"

namespace starling::sim::city {

/// Makes the folder if need be. Throws std::runtime_error.
void make_run_folder(const std::string& folder);

/// Into a folder that is there. Throws std::runtime_error, and leaves what stood there before.
void write_run(const std::string& folder, const Simulation& simulation, const Demand& demand,
               const RunSummary& summary, const TimingShares& shares);

}  // namespace starling::sim::city
