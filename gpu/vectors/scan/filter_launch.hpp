// SPDX-License-Identifier: Apache-2.0
// The filter of a corpus by shadows, which runs before the scan for many queries. Called by
// workspace.cpp.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// Rows of the first phase; all of them become candidates.
std::uint32_t filter_first_rows(std::uint32_t k);

/// Enqueued only. Lists must be empty. Afterwards the list of a query holds candidates, the k
/// nearest among them, with the recipe's scores in their keys; the lists of undecided tiles are
/// empty. The caller sets all of `scan` but the walk, the phases and the limits. The corpus must
/// have more than filter_first_rows() rows.
void filter_scan_async(FilterScan scan, bool is_dot, const CudaStream& stream);

}  // namespace starling::gpu
