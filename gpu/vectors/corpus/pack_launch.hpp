// Rows become panels, and lists begin.
#pragma once

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Of groups that so many rows take in panels.
constexpr std::uint64_t packed_groups(std::uint32_t count, std::uint32_t width,
                                      std::uint32_t dimension) {
  return std::uint64_t{(count + width - 1) / width} * width * group_count_of(dimension);
}

/// Enqueued only. `components` of `count` rows, on the device; into packed_groups() groups.
void pack_async(const float* components, std::uint32_t count, std::uint32_t dimension,
                std::uint32_t width, float4* groups, const Stream& stream);

/// Enqueued only. Rows [row_begin, row_begin + row_count) of panels, one behind the other again.
void unpack_async(const PanelsView& panels, std::uint32_t row_begin, std::uint32_t row_count,
                  std::uint32_t dimension, float* components, const Stream& stream);

/// As pack_async for the queries of a scan, into what scan.queries shows; their lists become empty.
void begin_scan_async(const float* components, std::uint32_t dimension, float4* groups,
                      const VectorScan& scan, const Stream& stream);

}  // namespace starling::gpu
