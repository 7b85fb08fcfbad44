// SPDX-License-Identifier: Apache-2.0
// Decides when the scan for short rows is the fastest, and which kernel serves the dimension and k:
// see short_rows_launch.hpp. workspace.cpp calls it.
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/scan/short_rows_kernel.cuh"
#include "starling/gpu/vectors/scan/short_rows_launch.hpp"

namespace starling::gpu {
namespace {

struct ThreadScanChoice {
  static constexpr std::uint32_t dimension_max = 16;
  static constexpr std::uint32_t k_max = 16;
  /// With fewer queries some multiprocessors would have no block.
  static constexpr std::uint32_t queries_min = std::uint32_t{1} << 17;
};

template <unsigned groups, unsigned k_limit>
void launch(const ThreadScan& scan, const CudaStream& stream) {
  using Shape = ThreadShape<groups, k_limit>;
  const auto kernel =
      scan.is_dot ? vector_thread_kernel<Shape, true> : vector_thread_kernel<Shape, false>;
  traced_launch(kernel,
                {blocks_for(scan.query_count, Shape::threads * Shape::queries), Shape::threads},
                stream, scan);
}

template <unsigned groups>
void launch(const ThreadScan& scan, const CudaStream& stream) {
  scan.k <= 8 ? launch<groups, 8>(scan, stream) : launch<groups, 16>(scan, stream);
}

}  // namespace

bool is_for_threads(std::uint32_t query_count, std::uint32_t dimension, std::uint32_t k) {
  return query_count >= ThreadScanChoice::queries_min &&
         dimension <= ThreadScanChoice::dimension_max && k <= ThreadScanChoice::k_max;
}

void thread_scan_async(const ThreadScan& scan, const CudaStream& stream) {
  switch (scan.corpus.group_count) {
    case 1:
      return launch<1>(scan, stream);
    case 2:
      return launch<2>(scan, stream);
    default:
      return launch<4>(scan, stream);
  }
}

}  // namespace starling::gpu
