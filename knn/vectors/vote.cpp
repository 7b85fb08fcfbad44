// SPDX-License-Identifier: Apache-2.0
// Sorts the ballots by label. Then counts each run of equal labels, and adds up its distances in a
// fixed order. See vote.hpp.
#include "starling/knn/vectors/vote.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "starling/knn/base/usage.hpp"

namespace starling {
namespace {

/// A label with its number of votes and the sum of their distances.
struct Candidate {
  std::size_t votes = 0;
  double distance_sum = 0;
  Label label = no_label;

  bool is_better_than(const Candidate& other) const {
    if (votes != other.votes) return votes > other.votes;
    return std::tie(distance_sum, label) < std::tie(other.distance_sum, other.label);
  }
};

}  // namespace

Label vote(std::span<Ballot> ballots) {
  // A stable sort keeps the ballots of a label in their order, so that the sum has a fixed order.
  std::ranges::stable_sort(ballots, {}, &Ballot::label);
  Candidate best;
  for (auto ballot = ballots.begin(); ballot != ballots.end();) {
    Candidate candidate{.label = ballot->label};
    for (; ballot != ballots.end() && ballot->label == candidate.label; ++ballot) {
      ++candidate.votes;
      candidate.distance_sum += ballot->distance;
    }
    if (candidate.label != no_label && candidate.is_better_than(best)) best = candidate;
  }
  return best.label;
}

Label vote(Metric metric, std::span<const VectorNeighbor> list, std::span<const Label> labels) {
  std::vector<Ballot> ballots;
  ballots.reserve(list.size());
  for (const VectorNeighbor& neighbor : list) {
    if (neighbor.row == no_row) break;
    check_usage(neighbor.row < labels.size(), "vote: a neighbour is row ", neighbor.row,
                ", but there are ", labels.size(), " labels; pass one for each row of the corpus");
    ballots.push_back({labels[neighbor.row], distance_of(metric, neighbor.score)});
  }
  return vote(ballots);
}

}  // namespace starling
