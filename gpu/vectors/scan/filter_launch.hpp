// SPDX-License-Identifier: Apache-2.0
// Enqueues the filter of a corpus by shadows, which runs before the scan for many queries.
// workspace.cpp calls it.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// Returns the number of rows in the first phase; all of them become candidates.
std::uint32_t filter_first_rows(std::uint32_t k);

/// Returns true if the current device runs code in which four warps multiply together.
bool has_group_products();

/// Returns how many tiles of queries a batch should have, at most `tiles_max`, if the queries do
/// not fit one batch. All tiles have the same number of blocks, and the device runs all blocks at
/// once. With this number of tiles nearly all multiprocessors have the same number of blocks.
std::uint32_t filter_batch_tiles(std::uint32_t tiles_max);

/// Enqueued only. Before the call the lists must be empty. Afterwards the list of each query holds
/// candidates, among them the k nearest rows, and the keys hold the recipe's scores. Only the lists
/// of queries in undecided tiles are empty. The caller sets every member of `scan` except `limits`
/// and those after it. The corpus must have more than filter_first_rows() rows.
void filter_scan_async(FilterScan scan, bool is_dot, bool may_multiply_in_groups,
                       const CudaStream& stream);

}  // namespace starling::gpu
