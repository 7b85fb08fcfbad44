// SPDX-License-Identifier: Apache-2.0
// One simulation: a server that lives through faults, its clients and subscribers, and what must be
// true of them. The same options give the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/server_simulation/simulation_options.hpp"

namespace starling::simulation {

struct SimulationResult {
  std::vector<std::string> violations;  ///< sentences about what was not true
  std::uint64_t trace = 0;              ///< a hash of all events
  std::uint64_t events = 0;
  std::uint64_t acknowledged = 0;  ///< number of acknowledged requests
  std::uint64_t ticks = 0;
  std::uint64_t failed_ticks = 0;
  std::uint64_t messages = 0;
  std::uint64_t answers = 0;
  std::uint64_t past_answers = 0;  ///< those about the past
  std::uint64_t starts = 0;
  std::uint64_t crashes = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t put_backs = 0;
  std::uint64_t timely = 0;  ///< number of answers that came in time, whatever others sent
  std::int64_t longest_request_us = 0;
  std::int64_t longest_timer_us = 0;
  bool disk_has_failed = false;    ///< whether SimulationOptions::disk_fault has happened
  bool memory_has_failed = false;  ///< whether SimulationOptions::failing_allocation has
  double virtual_s = 0;

  void add(const SimulationResult& other);
};

SimulationResult simulate(const SimulationOptions& options);

/// Returns options with fewer faults, clients and requests that still violate something.
SimulationOptions shrink(SimulationOptions options);

/// Returns the command that runs the simulation again.
std::string command_of(const SimulationOptions& options);

}  // namespace starling::simulation
