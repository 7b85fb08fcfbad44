// SPDX-License-Identifier: Apache-2.0
// The filter of a corpus by shadows, which runs before the scan for many queries. Called by
// workspace.cpp.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// Returns the number of rows of the first phase; all these rows become candidates.
std::uint32_t filter_first_rows(std::uint32_t k);

/// Enqueued only. The lists must be empty. Afterwards the list of each query holds candidates, and
/// the k nearest rows are among these. The keys hold the recipe's scores. The lists of undecided
/// tiles are empty. The caller sets every member of `scan` except the walk, the phases and the
/// limits. The corpus must have more than filter_first_rows() rows.
void filter_scan_async(FilterScan scan, bool is_dot, const CudaStream& stream);

}  // namespace starling::gpu
