// SPDX-License-Identifier: Apache-2.0
// Computes the scores of a query and some rows that do not lie side by side, as VectorNeighbor
// specifies them. FilteredSearch calls it for the rows that its filter leaves.
#pragma once

#include <cstdint>
#include <span>

#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// `candidates`: numbers whose low 32 bits are a row. Replaces each by a key that has the order of
/// (score, row): the ordered score in the high bits, the row in the low bits.
void score_rows(Metric metric, VectorsView corpus, std::span<const float> query,
                std::span<std::uint64_t> candidates);

}  // namespace starling::cpu
