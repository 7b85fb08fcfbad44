// SPDX-License-Identifier: Apache-2.0
// The policy "nearest", first come, first served: see dispatch_policy.hpp.
#include <algorithm>

#include "starling/sim/city/dispatch_policy.hpp"

namespace starling::sim::city {
namespace {

class NearestPolicy : public DispatchPolicy {
 public:
  std::string_view name() const override { return "nearest"; }

  DispatchDecision decide(const DispatchInput& input) override {
    DispatchDecision decision;
    taken_.assign(input.drivers, false);
    for (std::uint32_t i = 0; i < input.riders.size(); ++i) {
      const WaitingRider& rider = input.riders[i];
      const auto found = std::ranges::find_if(rider.list, [&](const Candidate& candidate) {
        return !taken_[candidate.driver] &&
               std::ranges::find(rider.declined_by, candidate.driver) == rider.declined_by.end();
      });
      if (found != rider.list.end()) {
        taken_[found->driver] = true;
        decision.offers.push_back({rider.ride, found->driver, found->distance_m});
      } else if (rider.may_have_more && input.free_drivers > decision.offers.size()) {
        // The list does not show which driver this rider gets. The offers to later riders depend on
        // that driver, so these offers are not certain, either.
        decision.uncertain.push_back(i);
      }
    }
    return decision;
  }

 private:
  std::vector<bool> taken_;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_nearest_policy() {
  return std::make_unique<NearestPolicy>();
}

}  // namespace starling::sim::city
