// SPDX-License-Identifier: Apache-2.0
// Tests sizes at which a panel, a block, a warp or a list is empty, exactly full, or has one
// element too many.
#include <algorithm>
#include <set>

#include "tests/vectors/trial.hpp"
#include "tests/vectors/vectors.hpp"

namespace starling::test {
namespace {

constexpr std::uint32_t ks[] = {1, 7, 16, 100, 128, 512, vector_k_max};

TEST_P(Vectors, EveryNumberOfRowsAroundAListIsExact) {
  for (const std::uint32_t k : ks)
    for (const std::uint32_t rows :
         std::set<std::uint32_t>{0, 1, 23, 24, 25, 31, 32, 33, 63, 64, 65, k - 1, k, k + 1})
      for (const std::uint32_t dimension : {1u, 3u, 33u}) {
        expect_exact(searcher(), {.rows = rows, .dimension = dimension, .queries = 5, .k = k});
        expect_exact(searcher(), {.shape = RowShape::small_integers,
                                  .rows = rows,
                                  .dimension = dimension,
                                  .queries = 2,
                                  .k = k,
                                  .is_graph = true});
        if (HasFailure()) return;
      }
}

TEST_P(Vectors, EveryNumberOfComponentsIsExactInEveryMetric) {
  for (const std::uint32_t dimension :
       {1u, 2u, 31u, 32u, 33u, 65u, 128u, 300u, 784u, 1280u, dimension_max})
    for (const Metric metric : all_metrics) {
      const std::uint32_t rows = dimension > 1000 ? 150 : 400;
      expect_exact(searcher(), {.metric = metric,
                                .shape = RowShape::gaussian_at_10,
                                .rows = rows,
                                .dimension = dimension,
                                .queries = 17,
                                .k = 16});
      if (HasFailure()) return;
    }
}

TEST_P(Vectors, EveryNumberOfQueriesIsExact) {
  for (const std::uint32_t queries : {0u, 1u, 2u, 3u, 4u, 5u, 17u, 128u, 129u, 300u})
    for (const std::uint32_t k : {1u, 100u})
      for (const bool is_graph : {false, true}) {
        expect_exact(searcher(), {.metric = Metric::cosine,
                                  .rows = 1500,
                                  .dimension = 9,
                                  .queries = queries,
                                  .k = k,
                                  .is_graph = is_graph});
        if (HasFailure()) return;
      }
}

TEST_P(Vectors, ThousandsOfRowsAreExactForEveryK) {
  for (const std::uint32_t k : ks) {
    expect_exact(searcher(), {.rows = 6000, .dimension = 2, .queries = 40, .k = k});
    expect_exact(searcher(), {.metric = Metric::inner_product,
                              .shape = RowShape::small_integers,
                              .rows = 20'011,
                              .dimension = 6,
                              .queries = 33,
                              .k = k,
                              .is_graph = true});
    if (HasFailure()) return;
  }
}

// Each corpus has several megabytes. This is more than a second-level cache holds, and enough work
// for all threads.
TEST_P(Vectors, CorporaLargerThanCachesAreExact) {
  expect_exact(searcher(), {.rows = 9001, .dimension = 784, .queries = 3, .k = 100});
  expect_exact(searcher(), {.shape = RowShape::tight_clusters,
                            .rows = 30'000,
                            .dimension = 300,
                            .queries = 7,
                            .k = 512});
  expect_exact(searcher(), {.metric = Metric::inner_product,
                            .shape = RowShape::many_duplicates,
                            .rows = 60'000,
                            .dimension = 31,
                            .queries = 129,
                            .k = 128});
  for (const RowShape shape : {RowShape::utm_grid, RowShape::all_equal})
    expect_exact(searcher(), {.shape = shape,
                              .rows = 900'000,
                              .dimension = 2,
                              .queries = 3,
                              .k = vector_k_max,
                              .is_graph = true});
  expect_exact(searcher(),
               {.rows = 1301, .dimension = dimension_max, .queries = 9, .k = 16, .is_graph = true});
}

TEST_P(Vectors, AnythingDrawnIsExact) {
  for (const std::uint64_t seed : seeds(60)) {
    Random random(seed);
    Trial trial;
    trial.metric = random.pick<Metric>(all_metrics);
    trial.shape = random.pick(row_shapes());
    trial.rows = static_cast<std::uint32_t>(random.below(random.chance(0.2) ? 12'000 : 700));
    trial.dimension = static_cast<std::uint32_t>(1 + random.below(random.chance(0.3) ? 150 : 20));
    trial.queries = static_cast<std::uint32_t>(random.below(random.chance(0.2) ? 150 : 20));
    trial.k = static_cast<std::uint32_t>(1 + random.below(random.chance(0.3) ? vector_k_max : 50));
    trial.is_graph = random.chance(0.5);
    expect_exact(searcher(), trial, seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace starling::test
