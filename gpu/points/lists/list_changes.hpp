// SPDX-License-Identifier: Apache-2.0
// Compares the lists of a tick with the last tick's: finds which lists are reported, and how large
// the reports are. GpuEngine owns it and uses it on its own thread.
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

  /// Whether the lists are few enough for report_few_async.
  static bool are_few(const DevicePlan& plan);
  /// Enqueues one kernel that does what compare and collect_async do, and stores the reports
  /// straight to the host.
  void report_few_async(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                        const ObjectsView& objects, const HostStores& stores,
                        const CudaStream& stream);

  /// Compares, waits for the CUDA stream, and returns how much is reported. `matching` says what
  /// became of the last plan's lists; ignored if both ticks have the same plan.
  ReportSize compare(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                     const CudaStream& stream);
  /// Enqueues the collection of the reports that compare found.
  void collect_async(DeviceLists& now, const ObjectsView& objects, const ReportsView& reports,
                     const CudaStream& stream) const;

 private:
  /// Returns a device pointer: by search, its number in the last plan, or ListMatching::none. Null
  /// if both ticks have the same plan, so that no number changed.
  const std::uint32_t* last_searches(DeviceLists& last, DeviceLists& now,
                                     const ListMatching& matching, const CudaStream& stream);

  ReportSizes sizes_;
  PinnedBuffer<std::uint32_t> last_searches_on_host_;
  DeviceBuffer<std::uint32_t> last_searches_;
  PinnedBuffer<ReportSize> total_;
};

}  // namespace starling::gpu
