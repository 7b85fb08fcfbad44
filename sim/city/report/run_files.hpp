// The files of a run: rides.csv, periods.csv, summary.json and report.html, which are the same
// bytes each time, and timings.csv and timings.json, which are not. Either all of them appear or
// none does.
#pragma once

#include <string>
#include <vector>

#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::sim::city {

/// The folder of a run, made if need be, with those around it, and this run's alone for as long as
/// the object lives. What was made goes again with the object, unless kept or used.
class RunFolder {
 public:
  /// Throws std::runtime_error, which says what to do, as do the members.
  explicit RunFolder(const std::string& folder);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// That the files of a run can be made here: each is, under its partial name, and is gone again.
  void check_files() const;

  /// Whether `path` is one of the run's own files.
  bool is_run_file(const std::string& path) const;

  void keep() { made_.clear(); }
  /// Removes what was made and holds nothing of others.
  void remove_made();

 private:
  void lock();

  std::string folder_;
  int lock_ = -1;                  ///< the open folder
  std::vector<std::string> made_;  ///< outermost first
};

/// Into a folder that is there. Throws std::runtime_error, and leaves what stood there before.
void write_run(const std::string& folder, const Simulation& simulation, const Demand& demand,
               const RunSummary& summary, const TimingShares& shares);

}  // namespace starling::sim::city
