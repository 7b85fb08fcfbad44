// SPDX-License-Identifier: Apache-2.0
// Writes the files of a run. rides.csv, periods.csv and summary.json are identical in every run
// with the same settings; report.html also depends on the script of its plots. timings.csv and
// timings.json differ from run to run. Either all files appear or none. `starling simulate` uses
// RunFolder and write_run().
#pragma once

#include <string>
#include <vector>

#include "starling/knn/base/descriptor.hpp"
#include "starling/sim/city/report/html_page.hpp"
#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// The output folder of a run. The constructor creates the folder and its parents if needed, and
/// locks the folder against other runs while this object lives. The destructor removes the created
/// folders again if they are empty and keep() was not called.
class RunFolder {
 public:
  /// The constructor and check_files() throw std::runtime_error on failure. The message says what
  /// to do.
  explicit RunFolder(const std::string& folder);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Checks that the run's files can be created in this folder: opens each file and discards it.
  void check_files() const;

  /// Returns true if `path` is one of the run's own files.
  bool is_run_file(const std::string& path) const;

  /// Keeps the created folders when this object is destroyed.
  void keep() { made_.clear(); }
  /// Removes the created folders that are empty.
  void remove_made();

 private:
  void lock();

  std::string folder_;
  Descriptor lock_;                ///< the locked folder
  std::vector<std::string> made_;  ///< the created folders, outermost first
};

/// Writes all files of a run into an existing folder. report.html contains `script`. Throws
/// std::runtime_error on failure; older files then stay unchanged.
void write_run(const std::string& folder, const Simulation& simulation, const Demand& demand,
               const RunSummary& summary, const TimingShares& shares, const PlotScript& script);

}  // namespace starling::sim::city
