// SPDX-License-Identifier: Apache-2.0
// Compares votes with votes computed by hand: for the majority, for ties, and for lists that are
// short or empty.
#include "starling/knn/vectors/vote.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace starling {
namespace {

using List = std::vector<VectorNeighbor>;
using Labels = std::vector<Label>;

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Vote, IsForTheLabelThatMostRowsHave) {
  const Labels labels{7, 5, 5, 7, 5};
  EXPECT_EQ(vote(Metric::l2, List{{0, 0}, {1, 3}, {2, 1}, {3, 2}, {4, 4}}, labels), 5);
  EXPECT_EQ(vote(Metric::l2, List{{0, 0}}, labels), 7);
}

TEST(Vote, TiesAreForTheLeastSumOfDistances) {
  const Labels labels{1, 2, 2, 1};
  // Each distance is the square root of a score. The distances of label 1 have the sum 0 + 4, those
  // of label 2 have 1 + 2.
  EXPECT_EQ(vote(Metric::l2, List{{0, 0}, {1, 1}, {4, 2}, {16, 3}}, labels), 2);
  // Each distance is half a score. The distances of label 1 have the sum (0 + 5) / 2, those of
  // label 2 have (1 + 4.5) / 2.
  EXPECT_EQ(vote(Metric::cosine, List{{0, 0}, {1, 1}, {4.5, 2}, {5, 3}}, labels), 1);
}

TEST(Vote, DistancesDecideAndNotTheirSquares) {
  const Labels labels{1, 2, 2, 1};
  // The distances of label 1 have the sum 0 + 3, those of label 2 have 1.5 + 2. The sums of their
  // squares are 9 and 6.25.
  EXPECT_EQ(vote(Metric::l2, List{{0, 0}, {2.25f, 1}, {4, 2}, {9, 3}}, labels), 1);
}

TEST(Vote, LargeInnerProductsAreNear) {
  EXPECT_EQ(vote(Metric::inner_product, List{{-9, 0}, {-1, 1}}, Labels{2, 1}), 2);
  EXPECT_EQ(vote(Metric::inner_product, List{{-9, 0}, {3, 1}, {5, 2}, {7, 3}}, Labels{2, 1, 1, 2}),
            2);
}

TEST(Vote, FullTiesAreForTheSmallestLabel) {
  EXPECT_EQ(vote(Metric::l2, List{{4, 0}, {4, 1}, {4, 2}}, Labels{3, -8, 0}), -8);
  EXPECT_EQ(vote(Metric::l2, List{{4, 0}, {4, 1}},
                 Labels{std::numeric_limits<Label>::max(), std::numeric_limits<Label>::max() - 1}),
            std::numeric_limits<Label>::max() - 1);
}

TEST(Vote, AShortListEndsWhereItsRowsDo) {
  EXPECT_EQ(vote(Metric::l2, List{{4, 0}, {infinity, no_row}, {infinity, no_row}}, Labels{3}), 3);
}

TEST(Vote, NobodyVotesForNothing) {
  EXPECT_EQ(vote(Metric::l2, List{}, Labels{1}), no_label);
  EXPECT_EQ(vote(Metric::l2, List{{infinity, no_row}}, Labels{}), no_label);
}

TEST(Vote, BallotsWithoutALabelDoNotCount) {
  std::vector<Ballot> ballots{{no_label, 0}, {no_label, 1}, {3, 2}};
  EXPECT_EQ(vote(ballots), 3);
  ballots = {{no_label, 0}};
  EXPECT_EQ(vote(ballots), no_label);
  EXPECT_EQ(vote({}), no_label);
}

}  // namespace
}  // namespace starling
