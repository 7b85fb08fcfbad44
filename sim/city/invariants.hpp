// The rules of the game, held against rides and drivers while every run goes on and when it ends.
#pragma once

#include <span>
#include <string>

#include "starling/sim/city/driver.hpp"
#include "starling/sim/city/ride.hpp"

namespace starling::sim::city {

class Fleet;

/// A sentence on the first rule that is broken; empty if none is:
///
/// - a ride's times run forward, in the order of its states, and it reaches one end, once;
/// - a driver has one rider and that rider this driver, or neither has anyone;
/// - the kilometres that drivers drove to riders and with them are those of the rides, to the
///   millimetre, and no way is shorter than the straight line;
/// - once all `is_over`: every ride has ended, every driver is free, and the hours of all states
///   add up to the hours there were.
std::string find_broken_rule(std::span<const Ride> rides, std::span<const Driver> drivers,
                             bool is_over, std::int64_t hours_us);

std::string find_broken_rule(std::span<const Ride> rides, const Fleet& fleet, bool is_over);

}  // namespace starling::sim::city
