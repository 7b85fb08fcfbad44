// SPDX-License-Identifier: Apache-2.0
// A dispatch policy decides which driver is offered to which rider. It knows the drivers only from
// the riders' neighbour lists. It also reports the riders whose lists were too short to be certain
// of the decision. Each simulation uses one policy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/ride.hpp"

namespace starling::sim::city {

/// A rider who waits for a driver, with the list of the nearest free drivers.
struct WaitingRider {
  RideIndex ride = none;
  std::span<const Candidate> list;           ///< nearest first
  std::span<const DriverIndex> declined_by;  ///< drivers that declined and get no new offer
  bool may_have_more = false;                ///< the list has k drivers; more may be farther away
  bool can_widen = false;                    ///< the list has k drivers, and k may be raised
};

struct DispatchInput {
  std::span<const WaitingRider> riders;  ///< sorted by the times of their requests
  std::uint32_t drivers = 0;             ///< size of the whole fleet
  std::uint32_t free_drivers = 0;
};

struct Offer {
  RideIndex ride = none;
  DriverIndex driver = none;
  double distance_m = 0;
};

struct DispatchDecision {
  std::vector<Offer> offers;
  /// Indices in DispatchInput::riders: the riders whose lists were too short for a certain
  /// decision. If one of these lists can be widened, the caller must ignore `offers`. Otherwise
  /// `offers` are the best that the lists allow.
  std::vector<std::uint32_t> uncertain;
};

class DispatchPolicy {
 public:
  virtual ~DispatchPolicy() = default;
  virtual std::string_view name() const = 0;
  virtual DispatchDecision decide(const DispatchInput& input) = 0;
};

/// Fills `times_us` with the time, in microseconds, that each of a rider's candidates needs to
/// reach the rider.
using PickupTimes =
    std::function<void(RideIndex, std::span<const Candidate>, std::span<std::int64_t> times_us)>;

/// First come, first served: each rider gets the nearest driver that is left.
std::unique_ptr<DispatchPolicy> make_nearest_policy();

/// Decides for all waiting riders at once: serves as many riders as possible, with the least sum of
/// straight distances.
std::unique_ptr<DispatchPolicy> make_batch_policy();

/// As make_batch_policy(), but with the least sum of pick-up times. `speed_max_mps` is the highest
/// speed: no driver reaches a rider faster than in a straight line at this speed.
std::unique_ptr<DispatchPolicy> make_batch_time_policy(PickupTimes pickup_times,
                                                       double speed_max_mps);

/// Lets an external program decide. The shell command `command` starts it, and the program reads
/// and writes one line of JSON for each decision (docs/simulate.md). make_command_policy() throws
/// std::runtime_error if the shell cannot be started. decide() throws InputError if the program
/// ends early, does not answer for a minute, or gives an invalid answer.
std::unique_ptr<DispatchPolicy> make_command_policy(const std::string& command);

}  // namespace starling::sim::city
