// SPDX-License-Identifier: Apache-2.0
// In the simulation, riders request rides, drivers move, the engine finds the nearest free drivers,
// and a policy makes offers. Time advances in periods. Events between two periods (requests,
// arrivals, riders giving up) keep their exact microsecond. The results depend only on the options,
// the world, the demand and the policy, and not on clocks or threads. `starling simulate` runs the
// simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "starling/sim/city/demand.hpp"
#include "starling/sim/city/dispatch_policy.hpp"
#include "starling/sim/city/fleet.hpp"
#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/period.hpp"
#include "starling/sim/city/ride.hpp"
#include "starling/sim/city/roads/world.hpp"

namespace starling::sim::city {

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint32_t drivers = 1000;
  Idling idling = Idling::cruise;
  std::int64_t period_us = 2'000'000;
  std::uint32_t k = 16;
  std::uint32_t k_max = 1024;  ///< greatest k of a widened list
  std::int64_t patience_us = 300'000'000;
  std::int64_t answer_us = 0;    ///< time from an offer to the driver's answer
  double decline_per_km = 0.05;  ///< probability that a driver declines, per km to the rider
  /// The greatest number of periods in a run. Periods after the last request count, too.
  std::size_t periods_max = 100'000'000;
};

/// A driver whose position or tags changed in one period. The handler of on_movement() writes these
/// changes to a trace.
struct DriverChange {
  DriverIndex driver = none;
  Point at;
  std::uint32_t tags = 0;
};
using MovementHandler = std::function<void(std::int64_t tau_us, std::span<const DriverChange>)>;

class Simulation {
 public:
  /// All references must outlive the simulation.
  Simulation(const SimulationOptions& options, const World& world, const Demand& demand,
             FleetIndex& index, DispatchPolicy& policy);

  void on_movement(MovementHandler handler) { movement_handler_ = std::move(handler); }

  /// Simulates one period. Returns false once the demand and all rides have ended. Throws
  /// std::logic_error if a rule of invariants.hpp is broken, and std::runtime_error if the run
  /// needs more than periods_max periods or if the index fails.
  bool step();

  /// Fills `times_us` with the time that each driver in `list` needs to reach the rider of `ride`,
  /// as of the current period.
  void find_pickup_times(RideIndex ride, std::span<const Candidate> list,
                         std::span<std::int64_t> times_us) const;

  std::span<const Ride> rides() const { return rides_; }
  const Fleet& fleet() const { return fleet_; }
  std::span<const PeriodRecord> periods() const { return periods_; }
  std::span<const PeriodTimes> times() const { return times_; }

 private:
  struct Waiting {
    RideIndex ride = none;
    std::uint32_t k = 0;
  };
  struct PendingOffer {
    Offer offer;
    std::int64_t answer_us = 0;
  };

  void take_arrivals();
  void take_due_answers();
  void admit_requests();
  void let_riders_give_up();
  void tell_index();
  DispatchDecision decide();
  std::vector<WaitingRider> waiting_riders() const;
  void widen(std::span<const RideIndex> rides, std::uint32_t factor);
  void make_offers(std::span<const Offer> offers);
  void answer(const Offer& offer);
  void end_ride(Ride& ride, RideState state, std::int64_t time_us);
  void leave_queue();
  void finish_period();

  SimulationOptions options_;
  const World& world_;
  const Demand& demand_;
  FleetIndex& index_;
  DispatchPolicy& policy_;
  MovementHandler movement_handler_;

  std::vector<Ride> rides_;  ///< one per admitted request
  Fleet fleet_;
  std::int64_t now_us_ = 0;
  std::size_t requests_admitted_ = 0;
  std::size_t active_rides_ = 0;
  std::vector<Waiting> waiting_;  ///< riders that wait or have an offer, in order of request
  std::vector<PendingOffer> pending_offers_;
  std::vector<PeriodRecord> periods_;
  std::vector<PeriodTimes> times_;
  PeriodRecord period_;
  PeriodTimes period_times_;

  std::vector<Arrival> arrivals_;
  std::vector<DriverPosition> positions_;
  std::vector<DriverTags> tags_;
  std::vector<DriverChange> changes_;
  std::vector<RiderQuery> riders_to_put_;
  std::vector<RideIndex> riders_gone_;
};

}  // namespace starling::sim::city
