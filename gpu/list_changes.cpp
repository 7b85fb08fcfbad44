#include "gpu/list_changes.hpp"

#include <span>

#include "gpu/tell_host_launch.hpp"

namespace starling::gpu {

ReportSize ListChanges::compare(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                                const Stream& stream) {
  const DevicePlan& plan = *now.plan();
  const bool same_plan = last.plan() == now.plan();
  sizes_.reserve(plan.list_count());
  if (!same_plan) {
    last_searches_.reserve(plan.list_count());
    copy_to_device_async(std::span<const std::uint32_t>(matching.last_search), last_searches_,
                         stream);
  }
  sizes_.compare_async(plan.device_rows(), plan.list_count(), now.view(), last.view(),
                       same_plan ? nullptr : last_searches_.data(), stream);
  total_[0] = {};
  if (plan.list_count() > 0)
    tell_host_async(sizes_.sums() + plan.list_count() - 1, total_.data(), stream);
  stream.wait();
  return total_[0];
}

void ListChanges::collect_async(DeviceLists& now, const ObjectsView& objects,
                                const ReportsView& reports, const Stream& stream) const {
  const DevicePlan& plan = *now.plan();
  gpu::collect_async(plan.device_rows(), plan.list_count(), now.view(), sizes_.sums(), objects,
                     reports, stream);
}

}  // namespace starling::gpu
