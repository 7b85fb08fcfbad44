// SPDX-License-Identifier: Apache-2.0
// Enqueues the direct scan for few queries, which computes every score by the recipe. workspace.cpp
// calls it; few_filter_launch.cu calls lower_bounds_async().
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"

namespace starling::gpu {

/// Returns the panel width that the packed queries of this scan must have: the smallest power of
/// two that is at least query_count. Returns 0 if this scan does not take query_count queries with
/// this recipe, or if the queries are too long for shared memory.
std::uint32_t few_queries_width(Recipe recipe, std::uint32_t query_count, std::uint32_t dimension);

/// Enqueued only. scan.queries.width must be the result of few_queries_width().
void few_queries_scan_async(const VectorScan& scan, const CudaStream& stream);

/// Lowers the bound of each query to the bound that the query's slots give. Enqueued only.
void lower_bounds_async(const CandidateLists& lists, std::uint32_t query_count,
                        const CudaStream& stream);

}  // namespace starling::gpu
