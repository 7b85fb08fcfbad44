// SPDX-License-Identifier: Apache-2.0
// Connects the parts of a simulation: see simulate_run.hpp.
#include "starling/apps/simulate/simulate_run.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <zmq.hpp>

#include "starling/apps/shared/embedded_host.hpp"
#include "starling/apps/shared/own_input.hpp"
#include "starling/apps/shared/page_folder.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/progress_line.hpp"
#include "starling/apps/shared/speed_flag.hpp"
#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/report/comparison.hpp"
#include "starling/sim/city/report/run_files.hpp"
#include "starling/sim/city/report/summary.hpp"
#include "starling/sim/city/request_file.hpp"
#include "starling/sim/city/roads/road_network.hpp"
#include "starling/sim/city/roads/road_world.hpp"
#include "starling/sim/city/roads/straight_world.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/traces/trace_writer.hpp"
#include "starling/sim/host/server_host.hpp"

namespace starling::apps {
namespace {

namespace city = sim::city;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t drawn_length_us = 3'600'000'000;
constexpr double drawn_requests_max = 1e8;
constexpr double beside_network_m = 1000;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

std::string seconds_text(std::int64_t time_us) {
  return number_text(static_cast<double>(time_us) / 1e6);
}

/// Writes the drivers' movement as Starling's own CSV, one row for each change of place or tags.
class MovementTrace {
 public:
  explicit MovementTrace(const std::string& path)
      : output_(path, sim::TextOutput::Appears::when_closed),
        writer_(
            sim::make_trace_writer(sim::TraceFormat::csv, {.has_tags = true}, names_, output_)) {}

  void write(std::int64_t tau_us, std::span<const city::DriverChange> changes) {
    for (const city::DriverChange& change : changes)
      writer_->write({.id = ObjectId{city::object_id(change.driver)},
                      .time_us = tau_us,
                      .position = {change.at.x_m, change.at.y_m, 0},
                      .tags = change.tags,
                      .has_tags = true});
  }
  void finish() { writer_->finish(); }
  void close() { output_.close(); }

 private:
  sim::NameTable names_;
  sim::TextOutput output_;
  std::unique_ptr<sim::TraceWriter> writer_;
};

/// Opens an output. If opening fails, the error names the flag and says what to do.
template <class Output, class... Arguments>
void open_output(const char* flag, std::optional<Output>& output, const Arguments&... arguments) {
  try {
    output.emplace(arguments...);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(flag) + ": " + error.what() +
                             "; name a file that you may write");
  }
}

class SimulateRun {
 public:
  explicit SimulateRun(const SimulatePlan& plan) : plan_(plan), flags_(plan.flags) {}

  void run() {
    // The outputs are checked, and the script for the report is read, before the long work of the
    // run.
    const city::PlotScript script = city::read_plot_script(page_folder({}));
    city::RunFolder folder(flags_.out);
    folder.check_files();
    if (folder.is_run_file(flags_.trace_out))
      throw sim::UsageError("--trace-out: " + flags_.trace_out +
                            " is a file of the run itself; name another");
    refuse_own_input({"--trace-out", flags_.trace_out, "run"}, inputs());
    for (const std::string& input : inputs())
      if (folder.is_run_file(input))
        throw sim::UsageError("--out: " + input +
                              " is read by this run, which would replace it; name another folder");
    std::optional<MovementTrace> trace;
    if (!flags_.trace_out.empty()) open_output("--trace-out", trace, flags_.trace_out);
    {
      const EndAtSignal preparing(stop_, [&folder] { folder.remove_made(); });
      read_network();
      find_demand();
      make_policy();
      make_index();
      simulation_.emplace(plan_.simulation, *world_, demand_, *index_, *policy_);
    }
    city::Simulation& simulation = *simulation_;
    if (trace) {
      simulation.on_movement([&](std::int64_t tau_us, std::span<const city::DriverChange> changes) {
        trace->write(tau_us, changes);
      });
    }
    const double wall_s = run_clock(simulation);
    const city::RunSummary summary{settings(), city::find_figures(simulation)};
    const city::TimingShares shares = city::find_shares(simulation, wall_s);
    if (trace) trace->finish();
    city::write_run(flags_.out, simulation, demand_, summary, shares, script);
    folder.keep();
    if (trace) trace->close();
    print(summary, shares);
  }

 private:
  std::vector<std::string> inputs() const {
    std::vector<std::string> files{flags_.requests};
    if (is_network_file()) files.push_back(flags_.world);
    return files;
  }

  bool is_network_file() const { return flags_.world != "straight" && flags_.world != "grid"; }

  void find_demand() {
    if (!flags_.requests.empty()) {
      city::RequestFileOptions options{.path = flags_.requests,
                                       .columns = flags_.request_columns,
                                       .area = plan_.area,
                                       .seed = flags_.seed,
                                       .spreads_minutes = !flags_.whole_minutes};
      if (plan_.length_us) options.length_us = *plan_.length_us;
      demand_ = city::read_request_file(options);
      if (world_ && demand_.is_geographic)
        throw sim::UsageError("--requests: the network " + flags_.world +
                              " is in metres, and the requests are in longitudes and latitudes");
      if (world_) drop_requests_outside();
    } else {
      const auto hours = static_cast<double>(plan_.length_us.value_or(drawn_length_us)) / 3.6e9;
      if (!(flags_.rate * hours <= drawn_requests_max))
        throw sim::UsageError(
            "--rate: that makes more than 100 million requests; choose a lower rate or a shorter "
            "--for");
      demand_ = city::draw_poisson_demand({.seed = flags_.seed,
                                           .requests_per_hour = flags_.rate,
                                           .start_us = plan_.start_us,
                                           .length_us = plan_.length_us.value_or(drawn_length_us),
                                           .side_m = flags_.side_km * 1000,
                                           .area = world_ ? world_->area() : city::Area(),
                                           .hot_spots = flags_.hot_spots,
                                           .daily_curve = !flags_.flat});
    }
    const auto periods = static_cast<std::uint64_t>((demand_.end_us - demand_.start_us) /
                                                    plan_.simulation.period_us);
    if (periods > plan_.simulation.periods_max)
      throw sim::UsageError("--period: the requests span more than " +
                            std::to_string(plan_.simulation.periods_max) +
                            " periods; choose a longer one");
    if (flags_.world == "straight") {
      world_ = std::make_unique<city::StraightWorld>(demand_.area, flags_.speed_kmh / 3.6);
    } else if (flags_.world == "grid") {
      world_ = std::make_unique<city::RoadWorld>(
          connected(city::make_grid_network({.area = demand_.area, .block_m = flags_.block_m})));
    }
  }

  static city::RoadNetwork connected(city::RoadNetwork network) {
    city::connect_network(network, false);
    return network;
  }

  // Drops requests that lie outside the network. Otherwise a request far from every road would be
  // moved to the border of the network without a message.
  void drop_requests_outside() {
    city::Area near = world_->area();
    near.add({near.low.x_m - beside_network_m, near.low.y_m - beside_network_m});
    near.add({near.high.x_m + beside_network_m, near.high.y_m + beside_network_m});
    const std::size_t dropped = std::erase_if(demand_.requests, [&](const city::Request& request) {
      return !near.contains(request.pickup) || !near.contains(request.dropoff);
    });
    demand_[city::BadRow::outside_area] += dropped;
    demand_.area = {};
    for (const city::Request& request : demand_.requests) {
      demand_.area.add(request.pickup);
      demand_.area.add(request.dropoff);
    }
    if (demand_.requests.empty())
      throw sim::UsageError("--requests: none of the " + std::to_string(dropped) +
                            " requests lies in the network " + flags_.world +
                            "; check that both have the same origin, in metres");
  }

  // Called before find_demand(), because drawn requests lie in the area of the network.
  void read_network() {
    if (!is_network_file()) return;
    city::RoadNetwork network = city::read_sumo_network(flags_.world);
    city::connect_network(network, flags_.largest_part);
    network.name = std::filesystem::path(flags_.world).filename().string();
    world_ = std::make_unique<city::RoadWorld>(std::move(network));
  }

  // The batch-time policy asks the simulation for pick-up times. The simulation is made later, and
  // exists when the policy runs.
  void make_policy() {
    if (flags_.policy == "nearest") {
      policy_ = city::make_nearest_policy();
    } else if (flags_.policy == "batch") {
      policy_ = city::make_batch_policy();
    } else if (flags_.policy == "command") {
      policy_ = city::make_command_policy(flags_.policy_command);
    } else {
      policy_ = city::make_batch_time_policy(
          [this](city::RideIndex ride, std::span<const city::Candidate> list,
                 std::span<std::int64_t> times_us) {
            simulation_->find_pickup_times(ride, list, times_us);
          },
          world_->speed_max_mps());
    }
  }

  void make_index() {
    const city::FleetIndexOptions options{
        .stream = flags_.stream,
        .drivers = flags_.drivers,
        .rides = static_cast<std::uint32_t>(demand_.requests.size()),
        .pickup_max_m = flags_.pickup_max_km * 1000};
    index_.emplace(options, make_host());
  }

  std::unique_ptr<sim::LockStepHost> make_host() {
    if (flags_.commands.empty()) return make_embedded_host(flags_.engine, {});
    zmq_.emplace();
    return std::make_unique<sim::ServerHost>(
        *zmq_,
        protocol::ManualServerOptions{.commands = flags_.commands,
                                      .results = flags_.results,
                                      .key = plan_.key,
                                      .connect_timeout_ms = plan_.connect_timeout_ms},
        "simulation");
  }

  double run_clock(city::Simulation& simulation) {
    ProgressLine progress;
    const auto start = Clock::now();
    const std::uint64_t total = demand_.requests.size();
    while (simulation.step()) {
      if (stop_.asked_to_stop()) throw StoppedError(stop_);
      progress.show("simulating", simulation.rides().size(), total, "requests");
      if (plan_.pace) wait_until(due_at(start, simulated_us(simulation), *plan_.pace));
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::int64_t simulated_us(const city::Simulation& simulation) const {
    return static_cast<std::int64_t>(simulation.periods().size()) * plan_.simulation.period_us;
  }

  /// Returns at once if the program is asked to stop.
  void wait_until(Clock::time_point due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    if (left.count() > 0) stop_.wait_for(left);
  }

  std::vector<city::Setting> settings() const {
    std::vector<city::Setting> settings;
    const auto text = [&](const char* key, std::string value) {
      settings.push_back({key, std::move(value), false});
    };
    const auto number = [&](const char* key, std::string value) {
      settings.push_back({key, std::move(value), true});
    };
    const city::SimulationOptions& simulation = plan_.simulation;
    text("policy", flags_.policy);
    number("period_s", seconds_text(simulation.period_us));
    number("drivers", std::to_string(flags_.drivers));
    text("idle", flags_.idle);
    number("k", std::to_string(flags_.k));
    number("k_max", std::to_string(flags_.k_max));
    number("patience_s", seconds_text(simulation.patience_us));
    number("pickup_max_km", number_text(flags_.pickup_max_km));
    number("decline_per_km", number_text(flags_.decline_per_km));
    number("answer_time_s", seconds_text(simulation.answer_us));
    number("seed", std::to_string(flags_.seed));
    text("world", world_->describe());
    text("demand", demand_.source);
    number("demand_s", seconds_text(demand_.end_us - demand_.start_us));
    if (flags_.requests.empty()) return settings;
    for (std::size_t reason = 0; reason < city::bad_row_count; ++reason)
      number(("rows_skipped_" + skip_name(reason)).c_str(),
             std::to_string(demand_.bad_rows[reason]));
    number("rows_outside_time", std::to_string(demand_.outside_time));
    number("spread_s", seconds_text(demand_.spread_us));
    return settings;
  }

  static std::string skip_name(std::size_t reason) {
    switch (static_cast<city::BadRow>(reason)) {
      case city::BadRow::unparsable:
        return "unparsable";
      case city::BadRow::null_island:
        return "null_island";
      case city::BadRow::outside_area:
        return "outside_area";
      case city::BadRow::zero_length:
        return "zero_length";
    }
    return "unknown";
  }

  static void print_line(const char* label, const std::string& text) {
    std::fprintf(stderr, "%-12s %s\n", label, text.c_str());
  }

  void print(const city::RunSummary& summary, const city::TimingShares& shares) const {
    const auto figure = [&](std::string_view key) -> std::string {
      for (const city::Figure& known : summary.figures)
        if (known.key == key) return city::format_number(known.value, known.decimals);
      return {};
    };
    print_line("demand", demand_.source + ", " + figure("requests") + " requests" + skipped());
    print_line("world", world_->describe());
    print_line("answered by", index_->describe());
    print_line("rides", figure("served") + " served, " + figure("cancelled") +
                            " cancelled: service rate " + figure("service_rate"));
    print_line("wait", "mean " + figure("wait_mean_s") + " s, median " + figure("wait_median_s") +
                           " s, p95 " + figure("wait_p95_s") + " s");
    print_line("pick-up", "mean " + figure("pickup_driven_mean_m") + " m driven, p95 " +
                              figure("pickup_driven_p95_m") + " m");
    print_line("kilometres", figure("occupied_km") + " occupied, " + figure("empty_km") +
                                 " empty; utilisation " + figure("utilisation"));
    print_line("lists", figure("lists_widened") + " were too short and widened, in " +
                            figure("periods_widened") + " of " + figure("periods") + " periods; " +
                            figure("periods_uncertain") + " stayed uncertain");
    char text[160];
    std::snprintf(text, sizeof(text),
                  "%.2f s for %.0f s: %.1f times real time; %.1f riders to dispatch a period",
                  shares.wall_s, shares.simulated_s, shares.times_real_time(), shares.waiting_mean);
    print_line("speed", text);
    std::snprintf(
        text, sizeof(text), "engine %.1f %%, matcher %.1f %%, movement %.1f %%, other %.1f %%",
        100 * shares.engine, 100 * shares.matcher, 100 * shares.movement, 100 * shares.other);
    print_line("shares", text);
    print_line("report", flags_.out + "/report.html");
    for (const std::string& first : demand_.first_bad_rows)
      if (!first.empty()) print_line("skipped", "the first row: " + first);
  }

  std::string skipped() const {
    std::string text;
    for (std::size_t reason = 0; reason < city::bad_row_count; ++reason)
      if (demand_.bad_rows[reason] > 0)
        text += ", " + std::to_string(demand_.bad_rows[reason]) + " skipped " +
                std::string(to_string(static_cast<city::BadRow>(reason)));
    if (demand_.spread_us > 0) text += ", times at whole minutes spread over their minute";
    return text;
  }

  StopSignals stop_;  // made before any thread
  const SimulatePlan& plan_;
  const SimulateFlags& flags_;
  city::Demand demand_;
  std::unique_ptr<city::World> world_;
  std::unique_ptr<city::DispatchPolicy> policy_;
  std::optional<zmq::context_t> zmq_;
  std::optional<city::FleetIndex> index_;
  std::optional<city::Simulation> simulation_;
};

void compare(const SimulateFlags& flags) {
  std::optional<city::RunFolder> folder;
  std::optional<sim::TextOutput> page;
  if (!flags.out.empty()) {
    folder.emplace(flags.out);
    open_output("--out", page, flags.out + "/compare.html", sim::TextOutput::Appears::when_closed);
  }
  const city::Comparison comparison = city::compare_runs(flags.compare[0], flags.compare[1]);
  if (page) {
    page->write(city::comparison_page(comparison, city::read_plot_script(page_folder({}))));
    page->close();
    folder->keep();
  }
  std::fputs(city::comparison_table(comparison).c_str(), stdout);
}

}  // namespace

void run_simulate(const SimulatePlan& plan) {
  if (!plan.flags.compare.empty()) return compare(plan.flags);
  SimulateRun(plan).run();
}

}  // namespace starling::apps
