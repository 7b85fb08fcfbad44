// The scan for few queries.
#pragma once

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// The width that queries must have for a stream scan of so many: the next power of two. 0: they
/// are too many for it, or too long for shared memory.
std::uint32_t stream_width(std::uint32_t query_count, std::uint32_t dimension);

/// Enqueued only. scan.queries.width is stream_width().
void stream_scan_async(const VectorScan& scan, const Stream& stream);

}  // namespace starling::gpu
