// SPDX-License-Identifier: Apache-2.0
// Runs the events in order, and draws the faults: see virtual_world.hpp.
#include "tests/server_simulation/virtual_world.hpp"

#include <algorithm>

namespace starling::simulation {

namespace {

bool is_of_network(Fault fault) {
  return fault == Fault::loss || fault == Fault::delay || fault == Fault::reordering ||
         fault == Fault::duplicates || fault == Fault::cuts;
}

}  // namespace

VirtualWorld::VirtualWorld(const SimulationOptions& options)
    : random_(options.seed), allocation_fault_(options.failing_allocation) {
  // Each seed leaves some faults out: rare states need a world that is good in other ways.
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    const bool is_drawn = random_.chance(0.5);
    if (is_drawn && !options.without.contains(static_cast<Fault>(i)))
      faults_.insert(static_cast<Fault>(i));
  }
}

void VirtualWorld::at(std::int64_t due_us, std::function<void()> event) {
  waiting_.emplace(Place{std::max(due_us, now_us_), ++number_}, std::move(event));
}

bool VirtualWorld::step() {
  if (waiting_.empty()) return false;
  const auto next = waiting_.extract(waiting_.begin());
  now_us_ = std::max(now_us_, next.key().first);
  ++events_;
  note(static_cast<std::uint64_t>(now_us_));
  next.mapped()();
  return true;
}

// Draws a number even if the fault is left out. So a run without a fault is like the run with it
// until the fault happens.
bool VirtualWorld::happens(Fault fault, double probability) {
  const bool is_drawn = random_.chance(probability);
  if (!is_drawn || is_calm_ || !faults_.contains(fault)) return false;
  if (!is_of_network(fault)) disturb();
  return true;
}

}  // namespace starling::simulation
