// SPDX-License-Identifier: Apache-2.0
// Packs rows into panels, unpacks rows from panels, and prepares the queries and lists of a scan.
// DeviceVectors, VectorWorkspace and the store call these functions.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Returns the number of groups that `count` rows take in panels of `width` rows.
constexpr std::uint64_t packed_groups(std::uint32_t count, std::uint32_t width,
                                      std::uint32_t dimension) {
  return std::uint64_t{(count + width - 1) / width} * width * group_count_of(dimension);
}

/// Enqueued only. Packs `components` [count][dimension], which are in device memory, into panels of
/// `width` rows. `groups` must have room for packed_groups() groups.
void pack_async(const float* components, std::uint32_t count, std::uint32_t dimension,
                std::uint32_t width, float4* groups, const CudaStream& stream);

/// Enqueued only. Writes rows [row_begin, row_begin + row_count) of `panels` to `components`
/// [row_count][dimension].
void unpack_async(const PanelsView& panels, std::uint32_t row_begin, std::uint32_t row_count,
                  std::uint32_t dimension, float* components, const CudaStream& stream);

/// Enqueued only. Packs the queries of a scan, `components` [query][dimension], into `groups`, the
/// memory that scan.queries describes. Empties the candidate lists of the scan.
void begin_scan_async(const float* components, std::uint32_t dimension, float4* groups,
                      const VectorScan& scan, const CudaStream& stream);

}  // namespace starling::gpu
