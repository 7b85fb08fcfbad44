// SPDX-License-Identifier: Apache-2.0
// Computes the scores of a query with some rows of a corpus, which need not be adjacent.
// VectorNeighbor specifies the score. FilteredSearch calls score_rows for the rows that remain
// after its filter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "starling/knn/vectors/corpus_rows.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// The low 32 bits of each candidate are a row of `corpus`; the high 32 bits mean nothing. Writes
/// the row's ordered score into the high bits. Then candidates have the order of (score, row).
/// `room` is scratch memory for raw rows. It is resized to a few rows.
void score_rows(Metric metric, const CorpusRows& corpus, std::span<const float> query,
                std::span<std::uint64_t> candidates, std::vector<float>& room);

}  // namespace starling::cpu
