// SPDX-License-Identifier: Apache-2.0
// If there are few lists, one kernel compares them and stores their reports. If there are many, one
// kernel compares them, the host waits for the total size of the reports, and another kernel
// collects the reports. See list_changes.hpp.
#include "starling/gpu/points/lists/list_changes.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "starling/gpu/points/lists/tell_host_launch.hpp"

namespace starling::gpu {

/// If lists have room for at most this many neighbours on average, 8 lanes handle a list in few
/// steps.
constexpr std::uint64_t short_list = 32;

bool ListChanges::are_few(const DevicePlan& plan) {
  constexpr std::uint64_t few_neighbors_max = std::uint64_t{1} << 14;
  return plan.list_count() <= few_lists_max && plan.room() <= few_neighbors_max;
}

void ListChanges::report_few_async(DeviceLists& last, DeviceLists& now,
                                   const ListMatching& matching, const ObjectsView& objects,
                                   const HostStores& stores, const CudaStream& stream) {
  const DevicePlan& plan = *now.plan();
  gpu::report_few_async(plan.device_rows(), plan.list_count(), now.view(), last.view(),
                        last_searches(last, now, matching, stream), objects, stores,
                        plan.room() <= short_list * plan.list_count(), stream);
}

const std::uint32_t* ListChanges::last_searches(DeviceLists& last, DeviceLists& now,
                                                const ListMatching& matching,
                                                const CudaStream& stream) {
  if (last.plan() == now.plan()) return nullptr;
  const std::vector<std::uint32_t>& searches = matching.last_search;
  last_searches_.reserve(searches.size());
  last_searches_on_host_.reserve(searches.size());
  std::ranges::copy(searches, last_searches_on_host_.data());
  copy_to_device_async(
      std::span<const std::uint32_t>(last_searches_on_host_.data(), searches.size()),
      last_searches_, stream);
  return last_searches_.data();
}

ReportSize ListChanges::compare(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                                const CudaStream& stream) {
  const DevicePlan& plan = *now.plan();
  sizes_.reserve(plan.list_count());
  sizes_.compare_async(plan.device_rows(), plan.list_count(), now.view(), last.view(),
                       last_searches(last, now, matching, stream), stream);
  total_[0] = {};
  if (plan.list_count() > 0)
    tell_host_async(sizes_.sums() + plan.list_count() - 1, total_.data(), stream);
  stream.wait();
  return total_[0];
}

void ListChanges::collect_async(DeviceLists& now, const ObjectsView& objects,
                                const ReportsView& reports, const CudaStream& stream) const {
  const DevicePlan& plan = *now.plan();
  gpu::collect_async(plan.device_rows(), plan.list_count(), now.view(), sizes_.sums(), objects,
                     reports, stream);
}

}  // namespace starling::gpu
