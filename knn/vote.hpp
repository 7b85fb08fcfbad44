// What the labels of a query's nearest rows vote for: classification by k nearest neighbours.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "knn/vectors.hpp"

namespace starling {

using Label = std::int64_t;

/// What an empty list votes for; labels of rows are larger.
inline constexpr Label no_label = std::numeric_limits<Label>::min();

/// The label that most of the list's rows have; of several, the one whose rows' distances have the
/// least sum, added up in float64 from the nearest on; of these the smallest. The list ends where
/// its rows do, or at its first `no_row`; `labels` has one for each row of the corpus.
Label vote(Metric metric, std::span<const VectorNeighbor> list, std::span<const Label> labels);

}  // namespace starling
