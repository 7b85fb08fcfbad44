// SPDX-License-Identifier: Apache-2.0
// Rules that all rides and drivers obey. The simulation checks these rules during every run and at
// its end.
#pragma once

#include <span>
#include <string>

#include "starling/sim/city/driver.hpp"
#include "starling/sim/city/ride.hpp"

namespace starling::sim::city {

class Fleet;

/// Returns a sentence on the first rule that is broken, or an empty string if no rule is broken.
/// The rules are:
///
/// - A ride's times do not decrease in the order of its states. A ride ends at most once.
/// - If a driver has a ride, the ride has this driver. The driver of an assigned or picked-up ride
///   has this ride.
/// - The sum of the distances that drivers drove to riders equals the sum of the rides' pick-up
///   distances, to the millimetre. The same holds for the distances that drivers drove with riders.
///   No trip with a rider is shorter than the straight line, apart from a rounding error of 2 mm.
/// - If `is_over`: every ride has ended, no driver has a ride, and each driver's times by state add
///   up to `hours_us`.
std::string find_broken_rule(std::span<const Ride> rides, std::span<const Driver> drivers,
                             bool is_over, std::int64_t hours_us);

/// The same as above, for a fleet.
std::string find_broken_rule(std::span<const Ride> rides, const Fleet& fleet, bool is_over);

}  // namespace starling::sim::city
