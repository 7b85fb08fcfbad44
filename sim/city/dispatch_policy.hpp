// Dispatch policies: who is offered whom, from the riders' k-lists alone. Small parts that the
// simulation takes one of; each knows when its lists were too short to be sure, and says for whom.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "starling/sim/city/fleet_index.hpp"
#include "starling/sim/city/ride.hpp"

namespace starling::sim::city {

/// Riders come in the order of their requests.
struct WaitingRider {
  RideIndex ride = none;
  std::span<const Candidate> list;           ///< nearest first
  std::span<const DriverIndex> declined_by;  ///< not to be asked again
  bool may_have_more = false;                ///< the list is full: others may stand further off
  bool can_widen = false;                    ///< and may be made longer
};

struct DispatchInput {
  std::span<const WaitingRider> riders;
  std::uint32_t drivers = 0;       ///< of the whole fleet
  std::uint32_t free_drivers = 0;  ///< how many, not where
};

struct Offer {
  RideIndex ride = none;
  DriverIndex driver = none;
  double distance_m = 0;
};

struct DispatchDecision {
  std::vector<Offer> offers;
  /// Whose lists were too short to be sure, indices of riders; the offers are the best that the
  /// lists allow if none of them can be widened, and nothing is to be made of them otherwise.
  std::vector<std::uint32_t> uncertain;
};

class DispatchPolicy {
 public:
  virtual ~DispatchPolicy() = default;
  virtual std::string_view name() const = 0;
  virtual DispatchDecision decide(const DispatchInput& input) = 0;
};

/// Pick-up times of a rider's candidates in microseconds, one a candidate.
using PickupTimes =
    std::function<void(RideIndex, std::span<const Candidate>, std::span<std::int64_t> times_us)>;

/// First come, first served, each by the nearest driver who is left.
std::unique_ptr<DispatchPolicy> make_nearest_policy();

/// All who wait at once: as many as possible, then the least sum of straight distances.
std::unique_ptr<DispatchPolicy> make_batch_policy();

/// The same with the pick-up's time on the roads; none is shorter than the straight line at
/// `speed_max_mps`.
std::unique_ptr<DispatchPolicy> make_batch_time_policy(PickupTimes pickup_times,
                                                       double speed_max_mps);

}  // namespace starling::sim::city
