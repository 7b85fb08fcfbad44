// SPDX-License-Identifier: Apache-2.0
// The scan for many queries. Called by workspace.cpp.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Enqueued only. scan.queries.width must be query_tile_rows.
void tile_scan_async(const VectorScan& scan, const CudaStream& stream);

}  // namespace starling::gpu
