// SPDX-License-Identifier: Apache-2.0
// Computes the exact list of nearest rows: all scores as VectorNeighbor defines them, then a sort.
// The benchmarks compare lists with the exact list, so that they never report the time of a wrong
// answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::bench {

/// Returns the k rows of `corpus` that are nearest to `query`. `corpus` and `query` must be
/// prepared. The row `self` is left out; if `self` is no_row, no row is left out. If fewer than k
/// rows remain, the last entries are {infinity, no_row}.
std::vector<VectorNeighbor> exact_list(Metric metric, VectorsView corpus,
                                       std::span<const float> query, std::uint32_t k,
                                       VectorRow self);

/// Returns the first difference as text, for example "entry 3 is row 17 at 0.5, not row 18 at
/// 0.25". Returns std::nullopt if there is none.
std::optional<std::string> difference(std::span<const VectorNeighbor> list,
                                      std::span<const VectorNeighbor> exact);

}  // namespace starling::bench
