// What a list of nearest rows must be, by the recipe at VectorNeighbor and a sort: the benchmark's
// own, so that no wrong answer is timed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/knn/words/metric.hpp"

namespace starling::bench {

/// Of prepared rows; k entries, {infinity, no_row} behind the last of a short list. `self` is no
/// neighbour; no_row: all are.
std::vector<VectorNeighbor> exact_list(Metric metric, VectorsView corpus,
                                       std::span<const float> query, std::uint32_t k,
                                       VectorRow self);

/// Where a list first differs: "entry 3 is row 17 at 0.5, not row 18 at 0.25".
std::optional<std::string> difference(std::span<const VectorNeighbor> list,
                                      std::span<const VectorNeighbor> exact);

}  // namespace starling::bench
