// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of lists_kernel.cuh. CUB's scan sums up the sizes of the reports. If there
// are few lists, one block both compares and collects. See lists_launch.hpp.
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "starling/gpu/points/lists/lists_kernel.cuh"
#include "starling/gpu/points/lists/lists_launch.hpp"

namespace starling::gpu {
namespace {

unsigned blocks_for_lists(std::uint32_t lists) {
  return blocks_for(std::uint64_t{lists} * list_lanes);
}

}  // namespace

void ReportSizes::reserve(std::uint32_t lists) {
  sizes_.reserve(lists);
  sums_.reserve(lists);
  std::size_t bytes = 0;
  check(cub::DeviceScan::InclusiveScan(nullptr, bytes, sizes_.data(), sums_.data(),
                                       cuda::std::plus<>{}, lists));
  scratch_.reserve(bytes);
}

void ReportSizes::compare_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                                const ListsView& last, const std::uint32_t* last_searches,
                                const CudaStream& stream) {
  if (lists == 0) return;
  compare_kernel<<<blocks_for_lists(lists), block_threads, 0, stream.get()>>>(
      rows, lists, now, last, last_searches, sizes_.data());
  check_launch();
  std::size_t bytes = scratch_.room();
  check(cub::DeviceScan::InclusiveScan(scratch_.data(), bytes, sizes_.data(), sums_.data(),
                                       cuda::std::plus<>{}, lists, stream.get()));
}

void collect_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                   const ReportSize* sums, const ObjectsView& objects, const ReportsView& reports,
                   const CudaStream& stream) {
  if (lists == 0) return;
  collect_kernel<<<blocks_for_lists(lists), block_threads, 0, stream.get()>>>(
      rows, lists, now, sums, objects, reports);
  check_launch();
}

void report_few_async(const ListRow* rows, std::uint32_t lists, const ListsView& now,
                      const ListsView& last, const std::uint32_t* last_searches,
                      const ObjectsView& objects, const HostStores& stores, bool few_neighbors,
                      const CudaStream& stream) {
  const auto kernel = few_neighbors ? report_few_kernel<8> : report_few_kernel<list_lanes>;
  kernel<<<1, few_lists_threads, 0, stream.get()>>>(rows, lists, now, last, last_searches, objects,
                                                    stores);
  check_launch();
}

void copy_lists_async(const ListsView& now, const ObjectsView& objects, const ListCopy& copy,
                      const CudaStream& stream) {
  if (copy.count == 0) return;
  copy_lists_kernel<<<blocks_for_lists(copy.count), block_threads, 0, stream.get()>>>(now, objects,
                                                                                      copy);
  check_launch();
}

}  // namespace starling::gpu
