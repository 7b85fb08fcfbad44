// SPDX-License-Identifier: Apache-2.0
// This file defines the results of one period. A PeriodRecord is a row of periods.csv. PeriodTimes
// holds wall-clock times; only these differ between runs with the same settings. The simulation
// fills both.
#pragma once

#include <cstdint>

namespace starling::sim::city {

struct PeriodRecord {
  std::int64_t time_us = 0;
  std::uint32_t requests = 0;  ///< `requests` to `gave_up` count events since the last period
  std::uint32_t offers = 0;
  std::uint32_t declined = 0;
  std::uint32_t assigned = 0;
  std::uint32_t picked_up = 0;
  std::uint32_t dropped_off = 0;
  std::uint32_t gave_up = 0;
  std::uint32_t asked_for = 0;  ///< riders that the policy had to find a driver for
  std::uint32_t waiting = 0;    ///< riders still waiting after the offers
  std::uint32_t idle = 0;       ///< drivers that are free or asked to take a ride, after the offers
  std::uint32_t to_pickup = 0;
  std::uint32_t occupied = 0;
  double pickup_distance_m = 0;  ///< sum of straight distances to the assigned riders
  std::uint32_t widened = 0;     ///< lists that were too short and were widened
  std::uint32_t uncertain = 0;   ///< lists that were too short and could not be widened
};

struct PeriodTimes {
  double movement_ms = 0;  ///< moving drivers, handling requests and arrivals
  double engine_ms = 0;    ///< staging updates, waiting for ticks
  double matcher_ms = 0;   ///< the dispatch policy
  double report_ms = 0;    ///< writing the trace of the movement, checking the rules
  std::uint32_t ticks = 0;
};

}  // namespace starling::sim::city
