// SPDX-License-Identifier: Apache-2.0
// Enqueues the filter of a corpus by shadows for few queries. workspace.cpp calls it.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// Returns true if the filter for few queries takes `query_count` queries of this dimension.
bool is_for_few_filter(std::uint32_t query_count, std::uint32_t dimension);

/// Does the same as filter_scan_async() for queries that is_for_few_filter() allows. scan.lists
/// need not be empty, but scan.filter.counts must be 0.
void few_filter_scan_async(FewFilterScan scan, bool is_dot, const CudaStream& stream);

}  // namespace starling::gpu
