// What the labels of a query's nearest rows vote for: classification by k nearest neighbours.
#pragma once

#include <span>

#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// A neighbour's label and its distance.
struct Ballot {
  Label label = no_label;
  double distance = 0;
};

/// The label that most ballots have; of several, the one whose ballots' distances have the least
/// sum, added up in float64 in the order given, which is from the nearest on; of these the
/// smallest. Ballots of no_label do not count; of nothing else, no_label. Puts the ballots in
/// another order.
Label vote(std::span<Ballot> ballots);

/// The same of a list's rows, which ends where they do, or at its first `no_row`; `labels` has one
/// for each row of the corpus.
Label vote(Metric metric, std::span<const VectorNeighbor> list, std::span<const Label> labels);

}  // namespace starling
