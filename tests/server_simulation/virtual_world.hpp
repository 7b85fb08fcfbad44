// SPDX-License-Identifier: Apache-2.0
// The clock and the events of a simulation. Everything happens in one thread, at a virtual time, in
// an order that follows from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tests/server_simulation/allocation_fault.hpp"
#include "tests/server_simulation/simulation_options.hpp"
#include "tests/support/random.hpp"

namespace starling::simulation {

class VirtualWorld {
 public:
  explicit VirtualWorld(const SimulationOptions& options);

  std::int64_t now_us() const { return now_us_; }
  /// Lets time pass within an event.
  void pass(std::int64_t duration_us) { now_us_ += duration_us; }
  /// The wall clock, in microseconds since 1970.
  std::int64_t wall_us() const { return wall_offset_us_ + now_us_; }
  /// Sets the wall clock ahead, or back.
  void step_wall(std::int64_t step_us) { wall_offset_us_ += step_us; }

  /// Runs `event` at this time, or now if the time has passed. Events that are due by then run
  /// first.
  void at(std::int64_t due_us, std::function<void()> event);
  void after(std::int64_t delay_us, std::function<void()> event) {
    at(now_us_ + delay_us, std::move(event));
  }
  /// Runs the next event. Returns false if there is none.
  bool step();
  std::uint64_t events() const { return events_; }
  /// A hash of the times of all events, the requests and the messages. Two runs with the same
  /// options have the same hash.
  std::uint64_t trace() const { return trace_; }
  void note(std::uint64_t number) { trace_ = (trace_ ^ number) * 0x100000001b3; }

  test::Random& random() { return random_; }
  /// Returns whether the fault happens now, with this probability. It never happens after
  /// calm_down().
  bool happens(Fault fault, double probability);
  /// From now on no fault happens.
  void calm_down() { is_calm_ = true; }
  bool is_calm() const { return is_calm_; }
  /// Notes that a fault holds the server up, now and for disturbance_us from now on. happens() does
  /// it for all faults but those of the network.
  void disturb() { disturbed_until_us_ = now_us_ + disturbance_us; }
  bool is_disturbed() const { return was_disturbed_since(now_us_); }
  bool was_disturbed_since(std::int64_t since_us) const { return disturbed_until_us_ > since_us; }
  AllocationFault& allocation_fault() { return allocation_fault_; }
  const AllocationFault& allocation_fault() const { return allocation_fault_; }

 private:
  static constexpr std::int64_t disturbance_us = 400'000;
  using Place = std::pair<std::int64_t, std::uint64_t>;

  test::Random random_;
  std::set<Fault> faults_;
  AllocationFault allocation_fault_;
  bool is_calm_ = false;
  std::int64_t now_us_ = 1'000'000;
  std::int64_t disturbed_until_us_ = 0;
  std::int64_t wall_offset_us_ = 1'700'000'000'000'000;
  std::uint64_t number_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325;
  std::map<Place, std::function<void()>> waiting_;
};

}  // namespace starling::simulation
