// SPDX-License-Identifier: Apache-2.0
// Enqueues the direct scan for many queries, which computes every score by the recipe.
// workspace.cpp calls it.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Enqueued only. Scores the rows of the scan for all queries by the recipe, and appends candidates
/// to scan.lists. scan.queries.width must be query_tile_rows.
void tile_scan_async(const VectorScan& scan, const CudaStream& stream);

}  // namespace starling::gpu
