// What one period came to: the rows of periods.csv, and apart from them the times it took, which
// alone differ from run to run.
#pragma once

#include <cstdint>

namespace starling::sim::city {

struct PeriodRecord {
  std::int64_t time_us = 0;
  std::uint32_t requests = 0;  ///< since the period before, as all events
  std::uint32_t offers = 0;
  std::uint32_t declined = 0;
  std::uint32_t assigned = 0;
  std::uint32_t picked_up = 0;
  std::uint32_t dropped_off = 0;
  std::uint32_t gave_up = 0;
  std::uint32_t asked_for = 0;  ///< riders whom the policy was asked to find a driver for
  std::uint32_t waiting = 0;    ///< after the offers, as all states
  std::uint32_t idle = 0;       ///< drivers, free or offered a ride
  std::uint32_t to_pickup = 0;
  std::uint32_t occupied = 0;
  double pickup_distance_m = 0;  ///< straight, sum over the assigned
  std::uint32_t widened = 0;     ///< lists that were too short and were made longer
  std::uint32_t uncertain = 0;   ///< lists that were too short and stayed so
};

struct PeriodTimes {
  double movement_ms = 0;  ///< drivers moved, requests and arrivals taken
  double engine_ms = 0;    ///< updates staged, ticks waited for
  double matcher_ms = 0;   ///< the policy
  double report_ms = 0;    ///< the trace of the movement, checks
  std::uint32_t ticks = 0;
};

}  // namespace starling::sim::city
