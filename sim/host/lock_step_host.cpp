// SPDX-License-Identifier: Apache-2.0
// begin() and finish() of hosts that do not run ahead: see lock_step_host.hpp.
#include "starling/sim/host/lock_step_host.hpp"

#include "starling/knn/base/assert.hpp"

namespace starling::sim {

void LockStepHost::begin(std::int64_t /*tau_us*/) {
  assertion_failed("only a host that runs ahead begins a tick without waiting for it");
}

FinishedTick LockStepHost::finish(const ListHandler& /*on_list*/) {
  assertion_failed("only a host that runs ahead has begun a tick");
}

}  // namespace starling::sim
