// SPDX-License-Identifier: Apache-2.0
// The steps of a period: see simulation.hpp.
#include "starling/sim/city/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "starling/knn/base/assert.hpp"
#include "starling/sim/city/invariants.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t check_every_periods = 100;

/// Measures the wall-clock time for which this object lives, and adds the time to a sum.
class AddedTime {
 public:
  explicit AddedTime(double& sum_ms) : sum_ms_(sum_ms) {}
  ~AddedTime() {
    sum_ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }
  AddedTime(const AddedTime&) = delete;
  AddedTime& operator=(const AddedTime&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& sum_ms_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Simulation::Simulation(const SimulationOptions& options, const World& world, const Demand& demand,
                       FleetIndex& index, DispatchPolicy& policy)
    : options_(options),
      world_(world),
      demand_(demand),
      index_(index),
      policy_(policy),
      fleet_({.seed = options.seed,
              .drivers = options.drivers,
              .idling = options.idling,
              .start_us = demand.start_us,
              .end_us = demand.end_us},
             world, demand.requests),
      now_us_(demand.start_us) {
  rides_.reserve(demand_.requests.size());
}

bool Simulation::step() {
  if (periods_.size() >= options_.periods_max)
    throw std::runtime_error(
        "after " + std::to_string(periods_.size()) + " periods, the limit of a run, " +
        std::to_string(demand_.requests.size() - requests_admitted_ + active_rides_) +
        " rides have not ended; use a longer --period, or a shorter --patience or "
        "--answer-time");
  period_ = {.time_us = now_us_};
  period_times_ = {};
  {
    const AddedTime watch(period_times_.movement_ms);
    take_arrivals();
    take_due_answers();
    admit_requests();
    let_riders_give_up();
  }
  tell_index();
  const DispatchDecision decision = decide();
  period_.uncertain = static_cast<std::uint32_t>(decision.uncertain.size());
  {
    const AddedTime watch(period_times_.movement_ms);
    make_offers(decision.offers);
  }
  finish_period();
  now_us_ += options_.period_us;
  return requests_admitted_ < demand_.requests.size() || active_rides_ > 0 ||
         now_us_ < demand_.end_us;
}

void Simulation::take_arrivals() {
  arrivals_.clear();
  fleet_.move(now_us_, arrivals_);
  for (const Arrival& arrival : arrivals_) {
    Ride& ride = rides_[arrival.ride];
    if (arrival.is_pickup) {
      check_invariant(ride.state == RideState::assigned && arrival.driven_mm == ride.pickup_mm,
                      "a picked-up ride was assigned, and its driver drove the planned length");
      ride.state = RideState::picked_up;
      ride.picked_up_us = arrival.time_us;
      ++period_.picked_up;
    } else {
      check_invariant(ride.state == RideState::picked_up, "a dropped-off ride was picked up");
      ride.trip_mm = arrival.driven_mm;
      end_ride(ride, RideState::dropped_off, arrival.time_us);
      ++period_.dropped_off;
    }
  }
}

void Simulation::take_due_answers() {
  if (pending_offers_.empty()) return;
  const auto first_not_due = std::ranges::find_if(
      pending_offers_, [&](const PendingOffer& pending) { return pending.answer_us > now_us_; });
  const std::vector<PendingOffer> due(pending_offers_.begin(), first_not_due);
  pending_offers_.erase(pending_offers_.begin(), first_not_due);
  for (const PendingOffer& pending : due) {
    fleet_.set_offered(pending.offer.driver, false);
    answer(pending.offer);
  }
  leave_queue();
}

void Simulation::admit_requests() {
  while (requests_admitted_ < demand_.requests.size() &&
         demand_.requests[requests_admitted_].time_us <= now_us_) {
    const Request& request = demand_.requests[requests_admitted_];
    const auto index = static_cast<RideIndex>(requests_admitted_++);
    rides_.push_back({.request = request,
                      .pickup = world_.place_at(request.pickup),
                      .dropoff = world_.place_at(request.dropoff),
                      .declined_by = {}});
    fleet_.note_request(rides_.back().pickup);
    waiting_.push_back({index, options_.k});
    riders_to_put_.push_back({index, rides_.back().pickup.at, options_.k});
    ++active_rides_;
    ++period_.requests;
  }
}

// A rider with a pending offer does not give up before the answer.
void Simulation::let_riders_give_up() {
  for (const Waiting& waiting : waiting_) {
    Ride& ride = rides_[waiting.ride];
    const std::int64_t patience_ends_us = ride.request.time_us + options_.patience_us;
    if (ride.state != RideState::waiting || patience_ends_us > now_us_) continue;
    end_ride(ride, RideState::gave_up, patience_ends_us);
    ++period_.gave_up;
  }
  leave_queue();
}

void Simulation::end_ride(Ride& ride, RideState state, std::int64_t time_us) {
  ride.state = state;
  ride.ended_us = time_us;
  ++ride.ends;
  --active_rides_;
}

/// Removes the riders that neither wait nor have an offer. Also removes their queries.
void Simulation::leave_queue() {
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const RideState state = rides_[waiting.ride].state;
    if (state == RideState::waiting || state == RideState::offered) return false;
    // If the rider came and left between two ticks, the index has no query to remove.
    if (std::erase_if(riders_to_put_,
                      [&](const RiderQuery& rider) { return rider.ride == waiting.ride; }) == 0)
      riders_gone_.push_back(waiting.ride);
    return true;
  });
}

void Simulation::tell_index() {
  positions_.clear();
  tags_.clear();
  changes_.clear();
  {
    const AddedTime watch(period_times_.movement_ms);
    fleet_.tell_changes(
        [&](DriverIndex driver, Point at, bool has_moved, std::uint32_t tags, bool has_new_tags) {
          if (has_moved) positions_.push_back({driver, at});
          if (has_new_tags) tags_.push_back({driver, tags});
          if (movement_handler_) changes_.push_back({driver, at, tags});
        });
  }
  {
    const AddedTime watch(period_times_.report_ms);
    if (movement_handler_) movement_handler_(now_us_, changes_);
  }
  const AddedTime watch(period_times_.engine_ms);
  index_.advance(now_us_, {positions_, tags_, riders_to_put_, riders_gone_});
  ++period_times_.ticks;
  riders_to_put_.clear();
  riders_gone_.clear();
}

std::vector<WaitingRider> Simulation::waiting_riders() const {
  std::vector<WaitingRider> riders;
  for (const Waiting& waiting : waiting_) {
    const Ride& ride = rides_[waiting.ride];
    if (ride.state != RideState::waiting) continue;
    const std::span<const Candidate> list = index_.list(waiting.ride);
    const bool is_full = list.size() == waiting.k;
    riders.push_back(
        {waiting.ride, list, ride.declined_by, is_full, is_full && waiting.k < options_.k_max});
  }
  return riders;
}

// Widens lists and asks the policy again, until the policy is certain or no list can be widened.
// The first round doubles the length of the lists that were too short. Each later round multiplies
// the length by four, so that few rounds are needed.
DispatchDecision Simulation::decide() {
  for (std::uint32_t factor = 2;; factor = 4) {
    const std::vector<WaitingRider> riders = waiting_riders();
    period_.asked_for = static_cast<std::uint32_t>(riders.size());
    DispatchDecision decision;
    if (!riders.empty() && fleet_.free_count() > 0) {
      const AddedTime watch(period_times_.matcher_ms);
      decision = policy_.decide({riders, options_.drivers, fleet_.free_count()});
    }
    std::vector<RideIndex> too_short;
    for (const std::uint32_t rider : decision.uncertain)
      if (riders[rider].can_widen) too_short.push_back(riders[rider].ride);
    if (too_short.empty()) return decision;
    const AddedTime watch(period_times_.engine_ms);
    widen(too_short, factor);
  }
}

void Simulation::widen(std::span<const RideIndex> rides, std::uint32_t factor) {
  auto waiting = waiting_.begin();
  std::vector<RiderQuery> queries;
  for (const RideIndex ride : rides) {  // `rides` has the order of waiting_, so one pass suffices
    waiting = std::find_if(waiting, waiting_.end(),
                           [&](const Waiting& other) { return other.ride == ride; });
    waiting->k = std::min(factor * waiting->k, options_.k_max);
    queries.push_back({ride, rides_[ride].pickup.at, waiting->k});
  }
  index_.advance(now_us_, {.positions = {}, .tags = {}, .riders = queries, .riders_gone = {}});
  ++period_times_.ticks;
  period_.widened += static_cast<std::uint32_t>(rides.size());
}

void Simulation::find_pickup_times(RideIndex ride, std::span<const Candidate> list,
                                   std::span<std::int64_t> times_us) const {
  std::vector<Place> places;
  places.reserve(list.size());
  for (const Candidate& candidate : list) places.push_back(fleet_.place_of(candidate.driver));
  world_.find_times(places, rides_[ride].pickup, times_us);
}

void Simulation::make_offers(std::span<const Offer> offers) {
  for (const Offer& offer : offers) {
    Ride& ride = rides_[offer.ride];
    check_invariant(ride.state == RideState::waiting, "only a waiting rider is offered a driver");
    ++ride.offers;
    ++period_.offers;
    ride.state = RideState::offered;
    if (options_.answer_us == 0) {
      answer(offer);
      continue;
    }
    fleet_.set_offered(offer.driver, true);
    pending_offers_.push_back({offer, now_us_ + options_.answer_us});
  }
  leave_queue();
}

void Simulation::answer(const Offer& offer) {
  Ride& ride = rides_[offer.ride];
  check_invariant(ride.state == RideState::offered && ride.driver == none,
                  "an offered ride has no driver yet");
  Random mood(options_.seed, Draw::declining, offer.ride, offer.driver);
  if (mood.unit() < options_.decline_per_km * offer.distance_m / 1000) {
    ride.state = RideState::waiting;
    ride.declined_by.push_back(offer.driver);
    ++period_.declined;
    return;
  }
  ride.state = RideState::assigned;
  ride.driver = offer.driver;
  ride.assigned_us = now_us_;
  ride.offered_distance_m = offer.distance_m;
  ride.pickup_mm = fleet_.assign(offer.driver, offer.ride, ride, now_us_);
  ++period_.assigned;
  period_.pickup_distance_m += offer.distance_m;
}

void Simulation::finish_period() {
  const AddedTime watch(period_times_.report_ms);
  for (const Waiting& waiting : waiting_)
    if (rides_[waiting.ride].state == RideState::waiting) ++period_.waiting;
  const auto counts = fleet_.count_by_state();
  period_.idle = counts[0];
  period_.to_pickup = counts[1];
  period_.occupied = counts[2];
  const bool is_over = requests_admitted_ == demand_.requests.size() && active_rides_ == 0 &&
                       now_us_ + options_.period_us >= demand_.end_us;
  if (is_over) fleet_.close_hours(now_us_);
  if (is_over || periods_.size() % check_every_periods == 0)
    if (const std::string broken = find_broken_rule(rides_, fleet_, is_over); !broken.empty())
      throw std::logic_error("the simulation breaks its own rules: " + broken);
  periods_.push_back(period_);
  times_.push_back(period_times_);
}

}  // namespace starling::sim::city
