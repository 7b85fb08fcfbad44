// Which lists of a tick are reported, told from the last tick's, and how much that is. GpuEngine's,
// on its own thread.
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

  /// Whether report_few_async may be asked.
  static bool are_few(const DevicePlan& plan);
  /// Enqueues what compare and collect_async do together, straight to the host.
  void report_few_async(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                        const ObjectsView& objects, const HostStores& stores,
                        const CudaStream& stream);

  /// Compares, and waits for the CUDA stream to know how much is to be reported. `matching` says
  /// what became of the last plan's lists, if the plan is another one.
  ReportSize compare(DeviceLists& last, DeviceLists& now, const ListMatching& matching,
                     const CudaStream& stream);
  /// Enqueues the collection of what was found.
  void collect_async(DeviceLists& now, const ObjectsView& objects, const ReportsView& reports,
                     const CudaStream& stream) const;

 private:
  /// On the device, what the lists were last tick; null: all what they are now.
  const std::uint32_t* last_searches(DeviceLists& last, DeviceLists& now,
                                     const ListMatching& matching, const CudaStream& stream);

  ReportSizes sizes_;
  PinnedBuffer<std::uint32_t> last_searches_on_host_;
  DeviceBuffer<std::uint32_t> last_searches_;
  PinnedBuffer<ReportSize> total_;
};

}  // namespace starling::gpu
