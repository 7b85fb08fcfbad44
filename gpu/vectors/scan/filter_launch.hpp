// Shadows, and the filter that uses them.
#pragma once

#include "gpu/device/stream.hpp"
#include "gpu/vectors/scan/filter_scan.hpp"

namespace starling::gpu {

/// Enqueued only. Shadows of all rows of `corpus` into what `shadow` shows, which is writable here:
/// halves (and norms) padded to whole tiles, a frame. Without a center for the inner product.
void make_shadow_async(const PanelsView& corpus, std::uint32_t rows, bool is_dot,
                       const ShadowView& shadow, const Stream& stream);

/// Rows of the first phase, all of which are candidates.
std::uint32_t filter_first_rows(std::uint32_t k);

/// Enqueued only. Lists are empty before; afterwards they hold the candidates with the recipe's
/// scores as keys, among them the k nearest, except where scan.undecided says so: those are empty.
/// Of the scan all but the walk, the phases and the limits is set; more than filter_first_rows()
/// rows.
void filter_scan_async(FilterScan scan, bool is_dot, const Stream& stream);

}  // namespace starling::gpu
