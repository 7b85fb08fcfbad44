// SPDX-License-Identifier: Apache-2.0
// Compares lists of all rows within a radius with the oracle's, bit for bit, in every metric.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/vector_oracle.hpp"
#include "tests/vectors/trial.hpp"
#include "tests/vectors/vectors.hpp"

namespace starling::test {
namespace {

using Lists = std::vector<std::vector<VectorNeighbor>>;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns the distance of a score by the table of metrics in docs/vectors.md.
double distance_by_definition(Metric metric, double score) {
  if (metric == Metric::l2) return std::sqrt(score);
  if (metric == Metric::cosine || metric == Metric::pearson) return score / 2;
  if (metric == Metric::hellinger) return std::sqrt(score / 2);
  return metric == Metric::jensen_shannon ? std::sqrt(score / 4) : score;
}

/// Returns all other rows for each query, nearest first.
Lists oracle_lists(const Question& question) {
  const std::uint32_t rows = question.corpus_view().rows();
  const std::uint32_t queries = question.queries_view().rows();
  const std::vector<VectorNeighbor> all = vector_oracle(
      question.metric, question.corpus_view(), question.queries_view(), rows, question.first_self);
  Lists lists(queries);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].row != no_row) lists[i / rows].push_back(all[i]);
  return lists;
}

Lists within(const Question& question, Lists lists, double radius, ListOrder order) {
  for (auto& list : lists) {
    std::erase_if(list, [&](const VectorNeighbor& neighbor) {
      return distance_by_definition(question.metric, neighbor.score) > radius;
    });
    if (order == ListOrder::by_row) std::ranges::sort(list, std::less<>(), &VectorNeighbor::row);
  }
  return lists;
}

Lists search_radius(VectorSearcher& searcher, const Question& question, double radius,
                    ListOrder order) {
  const auto caller = std::this_thread::get_id();
  Lists found;
  searcher.search_radius({.queries = question.queries_view(),
                          .radius = radius,
                          .first_self = question.first_self,
                          .order = order},
                         [&](std::uint32_t first_query, const RadiusLists& lists) {
                           EXPECT_EQ(std::this_thread::get_id(), caller);
                           EXPECT_EQ(first_query, found.size());
                           ASSERT_GT(lists.offsets.size(), 1u);
                           EXPECT_EQ(lists.offsets.front(), 0u);
                           EXPECT_EQ(lists.offsets.back(), lists.neighbors.size());
                           for (std::size_t i = 0; i + 1 < lists.offsets.size(); ++i) {
                             const auto list = lists.neighbors.subspan(
                                 lists.offsets[i], lists.offsets[i + 1] - lists.offsets[i]);
                             found.emplace_back(list.begin(), list.end());
                           }
                         });
  return found;
}

void expect_same(const Lists& found, const Lists& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t query = 0; query < found.size(); ++query) {
    SCOPED_TRACE("query " + std::to_string(query));
    ASSERT_EQ(found[query].size(), expected[query].size());
    expect_same_lists(found[query], expected[query], 1);
    if (testing::Test::HasFailure()) return;
  }
}

/// Returns 0, infinity, distances of neighbours, and the numbers just below these distances.
std::set<double> radii_of(const Question& question, const Lists& lists) {
  std::set<double> radii{0, infinity};
  for (const auto& list : lists)
    for (const std::size_t i : {std::size_t{0}, list.size() / 9, list.size() / 2, list.size()}) {
      if (i >= list.size() || radii.size() > 5) continue;
      const double distance = distance_by_definition(question.metric, list[i].score);
      radii.insert(distance);
      const double below = std::nextafter(distance, -infinity);
      if (below >= 0 || question.metric == Metric::inner_product) radii.insert(below);
    }
  return radii;
}

void expect_exact_radii(VectorSearcher& searcher, const Trial& trial) {
  Random random(1);
  const Question question = draw_question(trial, random);
  const Lists all = oracle_lists(question);
  for (const bool is_borrowed : {false, true}) {
    if (is_borrowed)
      searcher.borrow_corpus(question.metric, question.corpus_view());
    else
      searcher.set_corpus(question.metric, question.corpus_view());
    for (const double radius : radii_of(question, all))
      for (const ListOrder order : {ListOrder::nearest_first, ListOrder::by_row}) {
        SCOPED_TRACE(describe(trial) + ", radius " + std::to_string(radius));
        expect_same(search_radius(searcher, question, radius, order),
                    within(question, all, radius, order));
        if (testing::Test::HasFailure()) return;
      }
  }
}

/// The suite of the searchers that have a search by radius.
class Radii : public Vectors {
 protected:
  void SetUp() override {
    Vectors::SetUp();
    if (IsSkipped()) return;
    if (!searcher().supports_radius()) GTEST_SKIP() << "this searcher has no search by radius";
  }
};

TEST_P(Radii, AreExactInEveryMetricForEveryShape) {
  for (const Metric metric : all_metrics)
    for (const RowShape shape : row_shapes())
      for (const std::uint32_t dimension : {1u, 3u, 19u}) {
        expect_exact_radii(searcher(), {.metric = metric,
                                        .shape = shape,
                                        .rows = 131,
                                        .dimension = dimension,
                                        .queries = 9,
                                        .is_graph = dimension == 3});
        if (HasFailure()) return;
      }
}

TEST_P(Radii, AreExactForEveryNumberOfRowsAndQueries) {
  for (const std::uint32_t rows : {0u, 1u, 63u, 64u, 65u, 200u})
    for (const std::uint32_t queries : {0u, 1u, 5u, 129u, 300u})
      for (const std::uint32_t dimension : {2u, 7u, 101u}) {
        expect_exact_radii(searcher(), {.shape = RowShape::small_integers,
                                        .rows = rows,
                                        .dimension = dimension,
                                        .queries = queries,
                                        .is_graph = queries == 5});
        if (HasFailure()) return;
      }
}

// A list of all 70,000 rows makes the searcher go on with fewer queries at a time.
TEST_P(Radii, AreExactForRowsBeyondSixteenBits) {
  for (const std::uint32_t dimension : {2u, 5u})
    for (const bool is_graph : {false, true}) {
      expect_exact_radii(searcher(), {.shape = RowShape::uniform,
                                      .rows = 70'000,
                                      .dimension = dimension,
                                      .queries = 3,
                                      .is_graph = is_graph});
      if (HasFailure()) return;
    }
}

TEST_P(Radii, OfManyQueriesWithLongListsAreExact) {
  const std::vector<float> corpus(20'000, 1.0f);
  const std::vector<float> queries(1000, 2.0f);
  searcher().set_corpus(Metric::l1, {corpus, 1});
  std::uint64_t last = 0;
  std::uint64_t entries = 0;
  searcher().search_radius(
      {.queries = {queries, 1},
       .radius = 1,
       .on_progress =
           [&](std::uint64_t done) {
             EXPECT_TRUE(done >= last && done <= 1000);
             last = done;
           }},
      [&](std::uint32_t, const RadiusLists& lists) {
        // The searcher holds a bounded part of the lists at a time, not all of them.
        EXPECT_LE(lists.neighbors.size(), 8'000'000u);
        for (std::size_t i = 0; i < lists.neighbors.size(); ++i)
          ASSERT_EQ(lists.neighbors[i], (VectorNeighbor{1, static_cast<VectorRow>(i % 20'000)}));
        entries += lists.neighbors.size();
      });
  EXPECT_EQ(last, 1000u);
  EXPECT_EQ(entries, 20'000'000u);
}

// The first queries have no neighbours, so the searcher has many queries under way when the long
// lists begin.
TEST_P(Radii, OfLongListsAfterEmptyOnesAreExactAndBounded) {
  constexpr std::uint32_t rows = 100'000;
  constexpr std::uint32_t far = 2000;
  for (const std::uint32_t dimension : {1u, 5u}) {
    const std::vector<float> corpus(std::size_t{rows} * dimension, 1.0f);
    std::vector<float> queries(std::size_t{far} * dimension, 100.0f);
    queries.resize(std::size_t{far + 150} * dimension, 1.0f);
    searcher().set_corpus(Metric::l2, {corpus, dimension});
    std::uint32_t next = 0;
    searcher().search_radius(
        {.queries = {queries, dimension}, .radius = 1, .order = ListOrder::by_row},
        [&](std::uint32_t first, const RadiusLists& lists) {
          ASSERT_EQ(first, next);
          EXPECT_LE(lists.neighbors.size(), 9'000'000u);
          for (std::size_t i = 0; i + 1 < lists.offsets.size(); ++i, ++next)
            ASSERT_EQ(lists.offsets[i + 1] - lists.offsets[i], next < far ? 0 : rows);
          for (std::size_t i = 0; i < lists.neighbors.size(); ++i)
            ASSERT_EQ(lists.neighbors[i], (VectorNeighbor{0, static_cast<VectorRow>(i % rows)}));
        });
    EXPECT_EQ(next, far + 150);
  }
}

TEST_P(Radii, ThatMeanNothingAreRefusedByASentence) {
  const std::vector<float> rows{1, 2, 3, 4};
  const auto refusal = [&](const RadiusSearch& search) -> std::string {
    try {
      searcher().search_radius(search, [](std::uint32_t, const RadiusLists&) {});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal({.queries = {rows, 2}}), HasSubstr("there is no corpus"));
  for (const Metric metric : all_metrics) {
    searcher().set_corpus(metric, {rows, 2});
    EXPECT_THAT(refusal({.queries = {rows, 2}, .radius = std::nan("")}),
                HasSubstr("the radius is not a number"));
    const std::string negative = refusal({.queries = {rows, 2}, .radius = -1});
    if (metric == Metric::inner_product)
      EXPECT_EQ(negative, "");
    else
      EXPECT_THAT(negative, HasSubstr("is at least 0"));
  }
  EXPECT_THAT(refusal({.queries = {rows, 1}}), HasSubstr("have 1 components, and the corpus"));
  EXPECT_THAT(refusal({.queries = {rows, 2}, .first_self = 1}),
              HasSubstr("are the rows from 1 on, but the corpus has 2 rows"));
  EXPECT_EQ(refusal({.queries = {rows, 2}, .first_self = 0}), "");
}

TEST_P(Vectors, WithoutASearchByRadiusSaySo) {
  if (searcher().supports_radius()) GTEST_SKIP() << "this searcher has a search by radius";
  const std::vector<float> rows{1, 2};
  searcher().set_corpus(Metric::l2, {rows, 1});
  try {
    searcher().search_radius({.queries = {rows, 1}}, [](std::uint32_t, const RadiusLists&) {});
    FAIL() << "an exception was expected";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("use cpu::make_vector_searcher"));
  }
}

INSTANTIATE_TEST_SUITE_P(Searchers, Radii, ::testing::ValuesIn(searchers()),
                         [](const auto& run) { return run.param.test_name(); });

}  // namespace
}  // namespace starling::test
