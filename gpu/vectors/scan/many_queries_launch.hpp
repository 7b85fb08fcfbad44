// The scan for many queries.
#pragma once

#include "gpu/device/stream.hpp"
#include "gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Enqueued only. scan.queries.width is query_tile_rows.
void tile_scan_async(const VectorScan& scan, const Stream& stream);

}  // namespace starling::gpu
