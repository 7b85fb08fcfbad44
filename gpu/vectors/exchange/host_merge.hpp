// SPDX-License-Identifier: Apache-2.0
// Merges lists on the host. If there are few lists, this is faster than passing lists between
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
