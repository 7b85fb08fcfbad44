// SPDX-License-Identifier: Apache-2.0
// Computes the figures and shares of a run: see summary.hpp.
#include "starling/sim/city/report/summary.hpp"

#include <numeric>
#include <utility>

#include "starling/knn/base/percentile.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim::city {
namespace {

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

class Figures {
 public:
  explicit Figures(const Simulation& simulation) : simulation_(simulation) {}

  std::vector<Figure> find() {
    count_rides();
    add_waits();
    add_kilometres();
    add_hours();
    add_lists();
    return std::move(figures_);
  }

 private:
  void add(std::string key, std::string title, double value, int decimals = 0) {
    figures_.push_back({std::move(key), std::move(title), value, decimals});
  }

  void count_rides() {
    double served = 0;
    double offers = 0;
    double declined = 0;
    for (const Ride& ride : simulation_.rides()) {
      offers += ride.offers;
      declined += static_cast<double>(ride.declined_by.size());
      if (ride.state != RideState::dropped_off) continue;
      ++served;
      waits_s_.push_back(static_cast<double>(ride.wait_us()) / 1e6);
      assigned_after_s_.push_back(static_cast<double>(ride.assigned_us - ride.request.time_us) /
                                  1e6);
      pickups_m_.push_back(static_cast<double>(ride.pickup_mm) / 1e3);
    }
    const auto requests = static_cast<double>(simulation_.rides().size());
    add("requests", "Requests", requests);
    add("served", "Served", served);
    add("cancelled", "Cancelled by riders", requests - served);
    add("service_rate", "Service rate", share(served, requests), 4);
    add("offers", "Offers", offers);
    add("declined", "Declined by drivers", declined);
  }

  void add_waits() {
    add("wait_mean_s", "Wait until pick-up, mean (s)", mean(waits_s_), 3);
    add("wait_median_s", "Wait, median (s)", percentile(waits_s_, 0.5), 3);
    add("wait_p95_s", "Wait, 95th percentile (s)", percentile(waits_s_, 0.95), 3);
    add("assigned_after_mean_s", "Wait until assigned, mean (s)", mean(assigned_after_s_), 3);
    add("pickup_driven_mean_m", "Driven to pick-up, mean (m)", mean(pickups_m_), 1);
    add("pickup_driven_median_m", "Driven to pick-up, median (m)", percentile(pickups_m_, 0.5), 1);
    add("pickup_driven_p95_m", "Driven to pick-up, 95th percentile (m)",
        percentile(pickups_m_, 0.95), 1);
  }

  void add_kilometres() {
    std::array<std::int64_t, driver_state_count> driven_mm{};
    for (const Driver& driver : simulation_.fleet().drivers())
      for (std::size_t i = 0; i < driven_mm.size(); ++i)
        driven_mm[i] += driver.driven_by_state_mm[i];
    const double all_km = to_km(driven_mm[0] + driven_mm[1] + driven_mm[2]);
    add("occupied_km", "Occupied kilometres", to_km(driven_mm[2]), 3);
    add("empty_km", "Empty kilometres (deadheading)", to_km(driven_mm[0] + driven_mm[1]), 3);
    add("empty_pickup_km", "Empty kilometres to riders", to_km(driven_mm[1]), 3);
    add("empty_idle_km", "Empty kilometres without a ride", to_km(driven_mm[0]), 3);
    add("empty_share", "Share of kilometres that are empty",
        share(to_km(driven_mm[0] + driven_mm[1]), all_km), 4);
  }

  void add_hours() {
    std::array<double, driver_state_count> hours{};
    for (const Driver& driver : simulation_.fleet().drivers())
      for (std::size_t i = 0; i < hours.size(); ++i)
        hours[i] += static_cast<double>(driver.time_by_state_us[i]) / 3.6e9;
    const double all = hours[0] + hours[1] + hours[2];
    add("utilisation", "Utilisation (share of hours with a rider)", share(hours[2], all), 4);
    add("pickup_time_share", "Share of hours on the way to riders", share(hours[1], all), 4);
    add("idle_time_share", "Share of hours without a ride", share(hours[0], all), 4);
  }

  void add_lists() {
    double widened = 0;
    double periods_widened = 0;
    double periods_uncertain = 0;
    double asked = 0;
    for (const PeriodRecord& period : simulation_.periods()) {
      widened += period.widened;
      asked += period.asked_for;
      periods_widened += period.widened > 0 ? 1 : 0;
      periods_uncertain += period.uncertain > 0 ? 1 : 0;
    }
    const auto periods = static_cast<double>(simulation_.periods().size());
    add("periods", "Periods", periods);
    add("waiting_mean", "Riders to dispatch in a period, mean", share(asked, periods), 2);
    add("lists_widened", "Lists that were too short and were widened", widened);
    add("periods_widened", "Periods with widened lists", periods_widened);
    add("periods_uncertain", "Periods whose optimum stayed uncertain", periods_uncertain);
  }

  const Simulation& simulation_;
  std::vector<Figure> figures_;
  std::vector<double> waits_s_;
  std::vector<double> assigned_after_s_;
  std::vector<double> pickups_m_;
};

}  // namespace

std::vector<Figure> find_figures(const Simulation& simulation) {
  return Figures(simulation).find();
}

std::string format_number(double value, int decimals) {
  std::string text;
  append_number(text, value, std::chars_format::fixed, decimals);
  return text;
}

TimingShares find_shares(const Simulation& simulation, double wall_s) {
  TimingShares shares{.wall_s = wall_s};
  for (const PeriodTimes& times : simulation.times()) {
    shares.movement += times.movement_ms / 1e3;
    shares.engine += times.engine_ms / 1e3;
    shares.matcher += times.matcher_ms / 1e3;
    shares.ticks += times.ticks;
  }
  for (double* const part : {&shares.movement, &shares.engine, &shares.matcher})
    *part = share(*part, wall_s);
  shares.other = 1 - shares.movement - shares.engine - shares.matcher;
  const std::span<const PeriodRecord> periods = simulation.periods();
  if (periods.empty()) return shares;
  for (const PeriodRecord& period : periods) shares.waiting_mean += period.asked_for;
  shares.waiting_mean /= static_cast<double>(periods.size());
  shares.simulated_s = static_cast<double>(periods.back().time_us - periods.front().time_us) / 1e6;
  return shares;
}

}  // namespace starling::sim::city
