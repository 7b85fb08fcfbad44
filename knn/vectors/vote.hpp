// SPDX-License-Identifier: Apache-2.0
// Classification by k nearest neighbours: the labels of a query's nearest rows vote. The vector
// engine and `starling knn` call it.
#pragma once

#include <span>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// One neighbour's vote for its label. The distance breaks ties.
struct Ballot {
  Label label = no_label;
  double distance = 0;
};

/// Returns the label with the most ballots. Ties are broken by the smallest sum of distances, added
/// up in float64 in the given order, then by the smallest label. The ballots must be ordered from
/// the nearest on. Ballots of no_label do not count; if there are no others, returns no_label.
/// Changes the order of the ballots.
///
/// In a tick, set QueryDefinition::vote instead. Example: examples/vector_ticks.cpp
///
///     query.vote = true;
Label vote(std::span<Ballot> ballots);

/// Returns the vote of a list of rows. The list ends at its first `no_row`, if it has one. `labels`
/// has one label for each row of the corpus.
Label vote(Metric metric, std::span<const VectorNeighbor> list, std::span<const Label> labels);

}  // namespace starling
