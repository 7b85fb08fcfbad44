// SPDX-License-Identifier: Apache-2.0
// Merges lists on the host. For lists that are few, this is faster than to pass them between
// devices.
#pragma once

#include <cstdint>
#include <span>

#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// For each query, writes the k nearest entries of its list in `lists` and its list in `others` to
/// `lists`. Both arrays are [queries][k], each list ascending.
void merge_lists(std::span<VectorNeighbor> lists, std::span<const VectorNeighbor> others,
                 std::uint32_t k);

}  // namespace starling::gpu
