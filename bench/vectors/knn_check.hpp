// SPDX-License-Identifier: Apache-2.0
// Computes what a list of nearest rows must be, by the definition at VectorNeighbor and a sort. The
// benchmarks check lists with it, so that they never report the time of a wrong answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::bench {

/// Returns k entries for prepared rows; a short list ends with {infinity, no_row}. The row `self`
/// is left out; no_row leaves out none.
std::vector<VectorNeighbor> exact_list(Metric metric, VectorsView corpus,
                                       std::span<const float> query, std::uint32_t k,
                                       VectorRow self);

/// Returns the first difference, "entry 3 is row 17 at 0.5, not row 18 at 0.25"; std::nullopt if
/// there is none.
std::optional<std::string> difference(std::span<const VectorNeighbor> list,
                                      std::span<const VectorNeighbor> exact);

}  // namespace starling::bench
