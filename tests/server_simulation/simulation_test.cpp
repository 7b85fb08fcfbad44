// SPDX-License-Identifier: Apache-2.0
// Simulates whole servers on a virtual clock. Nothing acknowledged is lost, nothing is applied
// twice, and subscribers hold the oracle's lists, whatever goes wrong. STARLING_SIMULATIONS is the
// number of seeds.
#include "tests/server_simulation/simulation.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "tests/support/random.hpp"

namespace starling::simulation {
namespace {

class ServerSimulation : public testing::Test {
 protected:
  ServerSimulation() { spdlog::set_level(spdlog::level::off); }
};

std::string text_of(const SimulationResult& result) {
  std::string text;
  for (const std::string& violation : result.violations) text += violation + "\n";
  return text;
}

TEST_F(ServerSimulation, WhateverGoesWrongTheInvariantsHold) {
  const std::uint64_t seeds = test::number_in_environment("STARLING_SIMULATIONS", 150);
  SimulationResult all;
  for (SimulationOptions options; options.seed <= seeds; ++options.seed) {
    const SimulationResult result = simulate(options);
    ASSERT_TRUE(result.violations.empty())
        << text_of(result) << "replay and shrink it with: " << command_of(options);
    all.add(result);
  }
  // The simulation would prove little if one of these never happened.
  EXPECT_GT(all.crashes, seeds / 4);
  EXPECT_GT(all.starts, all.crashes + seeds);
  EXPECT_GT(all.snapshots, seeds / 8);
  EXPECT_GT(all.put_backs, seeds / 10);
  EXPECT_GT(all.failed_ticks, seeds / 8);
  EXPECT_GT(all.answers, seeds);
  EXPECT_GT(all.past_answers, seeds / 8);
  EXPECT_GT(all.timely, seeds);
  EXPECT_GT(all.messages, seeds);
}

TEST_F(ServerSimulation, TheSameSeedGivesTheSameRun) {
  for (const std::uint64_t seed : test::seeds(20)) {
    const SimulationOptions options{.seed = seed};
    const SimulationResult one = simulate(options);
    const SimulationResult other = simulate(options);
    EXPECT_EQ(one.trace, other.trace) << test::replay_hint(seed);
    EXPECT_EQ(one.events, other.events);
    EXPECT_EQ(one.messages, other.messages);
  }
}

TEST_F(ServerSimulation, AWorldWithoutFaultsAcknowledgesEverything) {
  SimulationOptions options;
  for (std::size_t i = 0; i < fault_names.size(); ++i)
    options.without.insert(static_cast<Fault>(i));
  const SimulationResult result = simulate(options);
  EXPECT_EQ(text_of(result), "");
  EXPECT_GE(result.acknowledged, options.requests);
  EXPECT_EQ(result.starts, 1u);
  EXPECT_EQ(result.failed_ticks, 0u);
}

/// A short run without other faults.
SimulationOptions short_run() {
  SimulationOptions options{.requests = 12, .clients = 2, .has_others = false};
  for (std::size_t i = 0; i < fault_names.size(); ++i)
    options.without.insert(static_cast<Fault>(i));
  return options;
}

/// Fails one call of the log to its disk in each run, from the first call to the last.
void fail_each_call(DiskFault::Kind kind) {
  SimulationOptions options = short_run();
  for (options.seed = 1; options.seed <= 3; ++options.seed) {
    std::uint64_t call = 1;
    for (bool has_failed = true; has_failed; ++call) {
      options.disk_fault = DiskFault{kind, call};
      const SimulationResult result = simulate(options);
      ASSERT_TRUE(result.violations.empty())
          << text_of(result) << "replay and shrink it with: " << command_of(options);
      has_failed = result.disk_has_failed;
    }
    EXPECT_GT(call, 3u) << "seed " << options.seed;
  }
}

TEST_F(ServerSimulation, PowerIsLostInEachCallThatChangesTheDisk) {
  fail_each_call(DiskFault::Kind::power);
}
TEST_F(ServerSimulation, EachWriteOfTheLogFails) {
  fail_each_call(DiskFault::Kind::writing);
}
TEST_F(ServerSimulation, EachSyncOfTheLogFails) {
  fail_each_call(DiskFault::Kind::syncing);
}
TEST_F(ServerSimulation, EachNewFileOfTheLogFindsNoRoom) {
  fail_each_call(DiskFault::Kind::room);
}

/// Each run fails one allocation. STARLING_ALLOCATION_STEP is the step from the allocation of one
/// run to the allocation of the next run.
TEST_F(ServerSimulation, EachAllocationOfTheServerFails) {
  const std::uint64_t step = test::number_in_environment("STARLING_ALLOCATION_STEP", 50);
  ASSERT_GT(step, 0u);
  SimulationOptions options = short_run();
  for (options.seed = 1; options.seed <= 3; ++options.seed) {
    bool has_failed = true;
    for (std::uint64_t number = 1; has_failed; number += step) {
      options.failing_allocation = number;
      const SimulationResult result = simulate(options);
      ASSERT_TRUE(result.violations.empty())
          << text_of(result) << "replay and shrink it with: " << command_of(options);
      has_failed = result.memory_has_failed;
    }
    EXPECT_GT(options.failing_allocation, 1000u) << "seed " << options.seed;
  }
}

}  // namespace
}  // namespace starling::simulation
