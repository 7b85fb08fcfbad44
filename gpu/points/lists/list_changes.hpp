// SPDX-License-Identifier: Apache-2.0
// Compares the lists of a tick with those of the last tick. Finds which lists are reported and how
// large the reports are, and collects the reports. GpuEngine owns a ListChanges and uses it on the
// engine's thread.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_lists.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/engine/list_directory.hpp"

namespace starling::gpu {

class ListChanges {
 public:
  explicit ListChanges(DeviceMemory& memory) : sizes_(memory), last_searches_(memory), total_(1) {}

  /// Returns true if the lists are few enough for report_few_async.
  static bool are_few(const DevicePlan& plan);
  /// Enqueues one kernel that does what compare and collect_async do, and stores the reports
  /// directly to the host.
  void report_few_async(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                        const ObjectsView& objects, const HostStores& stores,
                        const CudaStream& stream);

  /// Compares the lists, waits for the CUDA stream, and returns the total size of the reports.
  /// `matching` says which lists of the last tick continue. It is ignored if both ticks have the
  /// same plan.
  ReportSize compare(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                     const CudaStream& stream);
  /// Enqueues the collection of the reports that compare found.
  void collect_async(DeviceLists& now, const ObjectsView& objects, const ReportsView& reports,
                     const CudaStream& stream) const;

 private:
  /// Returns a device array with an entry for each search: the number that the search had in the
  /// last plan, or ListMatching::none. Returns null if both ticks have the same plan, because the
  /// numbers are then the same.
  const std::uint32_t* last_searches(DeviceLists& last, DeviceLists& now,
                                     const ListMatching& matching, const CudaStream& stream);

  ReportSizes sizes_;
  PinnedBuffer<std::uint32_t> last_searches_on_host_;
  DeviceBuffer<std::uint32_t> last_searches_;
  PinnedBuffer<ReportSize> total_;
};

}  // namespace starling::gpu
