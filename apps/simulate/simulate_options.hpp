// SPDX-License-Identifier: Apache-2.0
// The flags of `starling simulate`, checked and converted to the units of the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/server/key_flags.hpp"
#include "starling/sim/city/simulation.hpp"

namespace starling::apps {

/// The flags as the user typed them. CLI11 fills this struct.
struct SimulateFlags {
  std::string out;
  std::string trace_out;
  std::vector<std::string> compare;

  std::string requests;
  std::string request_columns;
  std::string area;
  bool whole_minutes = false;
  double rate = 2000;
  double side_km = 10;
  std::uint32_t hot_spots = 5;
  bool flat = false;
  std::string start = "8h";
  std::string length;

  std::string world = "straight";
  double speed_kmh = 20;
  double block_m = 200;
  bool largest_part = false;

  std::uint32_t drivers = 500;
  std::string idle = "cruise";
  std::string policy = "batch";
  std::string policy_command;
  std::string period = "2s";
  std::uint32_t k = 16;
  std::uint32_t k_max = starling::k_max;
  std::string patience = "5m";
  double pickup_max_km = 2;
  double decline_per_km = 0.05;
  std::string answer_time = "0s";
  std::uint64_t seed = 1;
  std::string pace = "max";

  EngineFlags engine;
  std::string commands;
  std::string results;
  std::string connect_timeout = "5s";
  KeyFlags key;
  std::string stream = "riders";
};

struct SimulatePlan {
  SimulateFlags flags;  ///< read only the flags that need no conversion
  sim::city::SimulationOptions simulation;
  std::optional<std::array<double, 4>> area;
  std::int64_t start_us = 0;
  std::optional<std::int64_t> length_us;
  std::optional<double> pace;  ///< a multiple of real time; std::nullopt: as fast as possible
  std::optional<protocol::KeyPair> key;  ///< this client's key pair, if the server needs one
  std::int64_t connect_timeout_ms = 0;
};

/// Checks and converts the flags. If a flag is wrong, throws a sim::UsageError that names this
/// flag.
SimulatePlan plan_simulate(const SimulateFlags& flags);

}  // namespace starling::apps
