// SPDX-License-Identifier: Apache-2.0
// Runs small cities to their end. Keeps the written files, the rides and the periods for tests of
// sim/city.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "starling/cpu/backend.hpp"
#include "starling/sim/city/demand.hpp"
#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/report/run_files.hpp"
#include "starling/sim/city/roads/straight_world.hpp"
#include "starling/sim/city/simulation.hpp"
#include "starling/sim/host/embedded_host.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim::city {

struct City {
  SimulationOptions simulation{.drivers = 60, .k = 4, .decline_per_km = 0.1};
  PoissonOptions demand{.requests_per_hour = 900, .length_us = 900'000'000, .side_m = 4000};
  std::string policy = "batch";
  double pickup_max_m = 2000;
  unsigned threads = 1;
};

struct CityRun {
  std::string rides_csv;
  std::string periods_csv;
  std::string summary_json;
  std::string report_html;
  std::vector<Ride> rides;
  std::vector<PeriodRecord> periods;

  double figure(const std::string& key) const {
    const std::size_t at = summary_json.find("\"" + key + "\": ");
    return std::stod(summary_json.substr(at + key.size() + 4));
  }
};

inline std::unique_ptr<DispatchPolicy> make_policy(const std::string& name) {
  if (name == "nearest") return make_nearest_policy();
  return make_batch_policy();
}

using IndexMaker = std::function<std::unique_ptr<FleetIndex>(const FleetIndexOptions&)>;

inline std::unique_ptr<LockStepHost> embedded_host(unsigned threads) {
  return std::make_unique<EmbeddedHost>(ProcessorOptions(), cpu::make_engine({.threads = threads}),
                                        "the engine of a test");
}

inline IndexMaker embedded(unsigned threads) {
  return [threads](const FleetIndexOptions& options) {
    return std::make_unique<FleetIndex>(options, embedded_host(threads));
  };
}

inline CityRun run_city(const City& city, const Demand& demand, const World& world,
                        DispatchPolicy& policy, const IndexMaker& make_index) {
  const std::unique_ptr<FleetIndex> index =
      make_index({.drivers = city.simulation.drivers,
                  .rides = static_cast<std::uint32_t>(demand.requests.size()),
                  .pickup_max_m = city.pickup_max_m});
  Simulation simulation(city.simulation, world, demand, *index, policy);
  while (simulation.step()) {
  }
  const TemporaryDirectory directory;
  const RunSummary summary{{{"policy", city.policy, false}}, find_figures(simulation)};
  write_run(directory.path(), simulation, demand, summary, find_shares(simulation, 1), {});
  CityRun run;
  run.rides_csv = TemporaryDirectory::read(directory.path("rides.csv"));
  run.periods_csv = TemporaryDirectory::read(directory.path("periods.csv"));
  run.summary_json = TemporaryDirectory::read(directory.path("summary.json"));
  run.report_html = TemporaryDirectory::read(directory.path("report.html"));
  run.rides.assign(simulation.rides().begin(), simulation.rides().end());
  run.periods.assign(simulation.periods().begin(), simulation.periods().end());
  return run;
}

/// Runs a city in the straight-line world.
inline CityRun run_city(const City& city, const IndexMaker& make_index) {
  const Demand demand = draw_poisson_demand(city.demand);
  const StraightWorld world(demand.area, 8);
  return run_city(city, demand, world, *make_policy(city.policy), make_index);
}
inline CityRun run_city(const City& city) {
  return run_city(city, embedded(city.threads));
}

}  // namespace starling::sim::city
