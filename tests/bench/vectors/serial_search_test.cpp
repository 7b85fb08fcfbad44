// SPDX-License-Identifier: Apache-2.0
// Compares the plain searches with lists that are computed by the definition and a sort.
#include "starling/bench/vectors/serial_search.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/bench/vectors/knn_check.hpp"
#include "starling/bench/vectors/knn_data.hpp"

namespace starling::bench {
namespace {

// Scores differ in the last bits, so rows are compared, and the data have no ties.
std::vector<VectorRow> rows_of(std::span<const VectorNeighbor> list) {
  std::vector<VectorRow> rows;
  for (const VectorNeighbor& entry : list) rows.push_back(entry.row);
  return rows;
}

class SerialSearch : public ::testing::TestWithParam<SerialSelection> {};

TEST_P(SerialSearch, FindsTheRowsOfTheExactList) {
  constexpr std::uint32_t dimension = 12;
  for (const Metric metric : {Metric::l2, Metric::inner_product, Metric::hellinger})
    for (const std::uint32_t k : {1u, 7u, 300u, 500u}) {
      const std::vector<float> rows = random_rows(metric, 400, dimension, 3);
      const VectorsView corpus{rows, dimension};
      for (const VectorRow self : {no_row, VectorRow{0}, VectorRow{399}}) {
        std::vector<VectorNeighbor> list(k);
        serial_search(metric, corpus, corpus.row(0), self, GetParam(), list);
        EXPECT_EQ(rows_of(list), rows_of(exact_list(metric, corpus, corpus.row(0), k, self)))
            << name_of(metric) << ", k " << k << ", self " << self;
      }
    }
}

TEST_P(SerialSearch, EqualScoresAreOrderedByRow) {
  const std::vector<float> rows(50, 1.5f);
  std::vector<VectorNeighbor> list(4);
  serial_search(Metric::l2, {rows, 1}, std::vector{0.5f}, 1, GetParam(), list);
  EXPECT_THAT(rows_of(list), ::testing::ElementsAre(0, 2, 3, 4));
}

TEST_P(SerialSearch, ItsTimeIsOfAllQueriesThoughOnlySomeAreSearched) {
  const std::vector<float> rows = random_rows(Metric::l2, 2'000, 8, 5);
  const VectorsView corpus{rows, 8};
  const SerialTime one = time_serial_search(Metric::l2, corpus, corpus, true, 5, GetParam(), 0);
  EXPECT_EQ(one.queries, 1u);
  const SerialTime some = time_serial_search(Metric::l2, corpus, corpus, true, 5, GetParam(), 0.01);
  EXPECT_GT(some.queries, 1u);
  EXPECT_GT(some.ms, 10) << "the time of 2,000 queries, of which " << some.queries << " took 10 ms";
  const SerialTime all = time_serial_search(Metric::l2, corpus, {corpus.components.first(16), 8},
                                            false, 5, GetParam(), 9);
  EXPECT_EQ(all.queries, 2u);
}

INSTANTIATE_TEST_SUITE_P(Selections, SerialSearch, ::testing::ValuesIn(serial_selections),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace starling::bench
