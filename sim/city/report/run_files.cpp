// SPDX-License-Identifier: Apache-2.0
// Formats the files and writes them together: see run_files.hpp.
#include "starling/sim/city/report/run_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <list>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "starling/knn/base/percentile.hpp"
#include "starling/sim/city/report/html_report.hpp"
#include "starling/sim/data/files/text_append.hpp"
#include "starling/sim/data/files/text_output.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t write_bytes = 1 << 16;
constexpr std::array run_file_names{"rides.csv",   "periods.csv", "summary.json",
                                    "report.html", "timings.csv", "timings.json"};
constexpr const char* remedy = "; name a new folder, or one that you may write to";

/// Builds lines of comma-separated values and writes them in large blocks.
class CsvLines {
 public:
  CsvLines(TextOutput& output, std::string_view header) : output_(output) {
    text_ = header;
    text_ += '\n';
  }

  template <class Integer>
  CsvLines& integer(Integer value) {
    begin();
    append_number(text_, value);
    return *this;
  }
  CsvLines& fixed(double value, int decimals) {
    begin();
    append_number(text_, value, std::chars_format::fixed, decimals);
    return *this;
  }
  CsvLines& text(std::string_view value) {
    begin();
    append_csv(text_, value);
    return *this;
  }
  CsvLines& time(std::int64_t time_us) {
    return time_us == Ride::never_us ? text({}) : integer(time_us);
  }
  void end_line() {
    text_ += '\n';
    at_start_ = true;
    if (text_.size() >= write_bytes) flush();
  }
  void flush() {
    output_.write(text_);
    text_.clear();
  }

 private:
  void begin() {
    if (!at_start_) text_ += ',';
    at_start_ = false;
  }

  TextOutput& output_;
  std::string text_;
  bool at_start_ = true;
};

void write_rides(TextOutput& output, std::span<const Ride> rides) {
  CsvLines lines(output,
                 "ride_id,request_time_us,state,pickup_x_m,pickup_y_m,dropoff_x_m,dropoff_y_m,"
                 "offers,declined,driver_id,assigned_time_us,pickup_time_us,end_time_us,wait_s,"
                 "pickup_distance_m,pickup_driven_m,trip_driven_m");
  for (std::size_t i = 0; i < rides.size(); ++i) {
    const Ride& ride = rides[i];
    lines.integer(i + 1).integer(ride.request.time_us).text(to_string(ride.state));
    for (const Point at : {ride.pickup.at, ride.dropoff.at})
      lines.fixed(at.x_m, 2).fixed(at.y_m, 2);
    lines.integer(ride.offers).integer(ride.declined_by.size());
    if (ride.driver == none) {
      lines.text({}).text({}).text({}).time(ride.ended_us).text({}).text({}).text({}).text({});
    } else {
      lines.integer(object_id(ride.driver)).time(ride.assigned_us).time(ride.picked_up_us);
      lines.time(ride.ended_us).fixed(static_cast<double>(ride.wait_us()) / 1e6, 3);
      lines.fixed(ride.offered_distance_m, 2).fixed(static_cast<double>(ride.pickup_mm) / 1e3, 3);
      lines.fixed(static_cast<double>(ride.trip_mm) / 1e3, 3);
    }
    lines.end_line();
  }
  lines.flush();
}

void write_periods(TextOutput& output, std::span<const PeriodRecord> periods) {
  CsvLines lines(output,
                 "time_us,requests,offers,declined,assigned,picked_up,dropped_off,cancelled,"
                 "asked_for,waiting,idle,to_pickup,occupied,pickup_distance_mean_m,lists_widened,"
                 "lists_uncertain");
  for (const PeriodRecord& period : periods) {
    lines.integer(period.time_us);
    for (const std::uint32_t count :
         {period.requests, period.offers, period.declined, period.assigned, period.picked_up,
          period.dropped_off, period.gave_up, period.asked_for, period.waiting, period.idle,
          period.to_pickup, period.occupied})
      lines.integer(count);
    if (period.assigned == 0) {
      lines.text({});
    } else {
      lines.fixed(period.pickup_distance_m / period.assigned, 2);
    }
    lines.integer(period.widened).integer(period.uncertain);
    lines.end_line();
  }
  lines.flush();
}

void write_timings(TextOutput& output, const Simulation& simulation) {
  CsvLines lines(output, "time_us,ticks,movement_ms,engine_ms,dispatch_ms,report_ms");
  for (std::size_t i = 0; i < simulation.times().size(); ++i) {
    const PeriodTimes& times = simulation.times()[i];
    lines.integer(simulation.periods()[i].time_us).integer(times.ticks);
    lines.fixed(times.movement_ms, 4).fixed(times.engine_ms, 4);
    lines.fixed(times.matcher_ms, 4).fixed(times.report_ms, 4);
    lines.end_line();
  }
  lines.flush();
}

std::string summary_json(const RunSummary& summary) {
  std::string text = "{\n  \"settings\": {";
  const char* before = "\n    ";
  for (const Setting& setting : summary.settings) {
    text += std::exchange(before, ",\n    ");
    append_json(text, setting.key);
    text += ": ";
    if (setting.is_number) {
      text += setting.value;
    } else {
      append_json(text, setting.value);
    }
  }
  text += "\n  },\n  \"results\": {";
  before = "\n    ";
  for (const Figure& figure : summary.figures) {
    text += std::exchange(before, ",\n    ");
    append_json(text, figure.key);
    text += ": " + format_number(figure.value, figure.decimals);
  }
  return text + "\n  }\n}\n";
}

std::string timings_json(const TimingShares& shares, const Simulation& simulation) {
  std::vector<double> dispatch_ms;
  std::vector<double> engine_ms;
  for (const PeriodTimes& times : simulation.times()) {
    dispatch_ms.push_back(times.matcher_ms);
    engine_ms.push_back(times.engine_ms);
  }
  std::string text = "{";
  const char* before = "\n  ";
  const auto add = [&](const char* key, double value, int decimals) {
    text += std::exchange(before, ",\n  ");
    append_json(text, key);
    text += ": " + format_number(value, decimals);
  };
  add("wall_s", shares.wall_s, 3);
  add("simulated_s", shares.simulated_s, 3);
  add("times_real_time", shares.times_real_time(), 2);
  add("engine_share", shares.engine, 4);
  add("dispatch_share", shares.matcher, 4);
  add("movement_share", shares.movement, 4);
  add("other_share", shares.other, 4);
  add("ticks", static_cast<double>(shares.ticks), 0);
  add("engine_ms_p50", percentile(engine_ms, 0.5), 3);
  add("engine_ms_p95", percentile(engine_ms, 0.95), 3);
  add("engine_ms_max", percentile(engine_ms, 1), 3);
  add("dispatch_ms_p50", percentile(dispatch_ms, 0.5), 3);
  add("dispatch_ms_p95", percentile(dispatch_ms, 0.95), 3);
  add("dispatch_ms_max", percentile(dispatch_ms, 1), 3);
  return text + "\n}\n";
}

}  // namespace

RunFolder::RunFolder(const std::string& folder) : folder_(folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path whole;
  for (const fs::path& part : fs::path(folder)) {
    whole /= part;
    if (part.empty() || fs::is_directory(whole, error)) continue;
    if (fs::create_directory(whole, error)) made_.push_back(whole.string());
    if (!error) continue;
    remove_made();
    throw std::runtime_error("--out: " + folder +
                             ": the folder cannot be created: " + error.message().append(remedy));
  }
  lock();
}

RunFolder::~RunFolder() {
  remove_made();
}

// If the file system cannot lock, as on some network disks, the folder is used without a lock.
void RunFolder::lock() {
  lock_ = Descriptor(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_.is_open() || ::flock(lock_.number(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  throw std::runtime_error("--out: " + folder_ +
                           " is in use by another run; wait until it ends, or name another folder");
}

void RunFolder::remove_made() {
  std::error_code ignored;  // removal fails, as intended, if the folder holds other files
  for (; !made_.empty(); made_.pop_back()) std::filesystem::remove(made_.back(), ignored);
}

bool RunFolder::is_run_file(const std::string& path) const {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(path, error);
  return !error && std::ranges::any_of(run_file_names, [&](const char* name) {
    return whole == std::filesystem::weakly_canonical(folder_ + "/" + name, error);
  });
}

void RunFolder::check_files() const {
  try {
    for (const char* const name : run_file_names)
      TextOutput(folder_ + "/" + name, TextOutput::Appears::when_closed);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("--out: " + std::string(error.what()) + remedy);
  }
}

void write_run(const std::string& folder, const Simulation& simulation, const Demand& demand,
               const RunSummary& summary, const TimingShares& shares, const PlotScript& script) {
  std::list<TextOutput> files;
  const auto open = [&](const char* name) -> TextOutput& {
    return files.emplace_back(folder + "/" + name, TextOutput::Appears::when_closed);
  };
  write_rides(open("rides.csv"), simulation.rides());
  write_periods(open("periods.csv"), simulation.periods());
  open("summary.json").write(summary_json(summary));
  open("report.html").write(html_report(simulation, demand, summary, script));
  write_timings(open("timings.csv"), simulation);
  open("timings.json").write(timings_json(shares, simulation));
  // Finishing may fail for lack of space, so all files are finished first. Then they appear
  // together.
  for (TextOutput& file : files) file.finish();
  for (TextOutput& file : files) file.close();
}

}  // namespace starling::sim::city
