// SPDX-License-Identifier: Apache-2.0
// Tests the published methods. Their lists are exact for all shapes and data, their memory stays
// within its limit, and they run their own kernels.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "starling/gpu/device/launch_trace.hpp"
#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

using Kernels = std::vector<std::string>;

struct Method {
  const char* name;
  SearchMethod method;
  MakeMethod make;
  Kernels stages;                 ///< the kernels of the paper's stages; all of them run
  Kernels others;                 ///< kernels that may also run, for ties or for data that does not
                                  ///< fit in memory
  std::uint64_t bytes_least = 0;  ///< the method may take these bytes even if its limit is lower
};
void PrintTo(const Method& method, std::ostream* out) {
  *out << method.name;
}

const std::vector<Method>& methods() {
  static const std::vector<Method> all{
      {"kato",
       SearchMethod::kato,
       &make_kato,
       {"kato_distances_kernel", "kato_select_kernel", "kato_finish_kernel"},
       {}},
      {"cuknn",
       SearchMethod::cuknn,
       &make_cuknn,
       {"cuknn_distances_kernel", "cuknn_local_kernel", "cuknn_global_kernel"},
       {}},
      {"iterative",
       SearchMethod::iterative,
       &make_iterative,
       {"matrix_scores_kernel", "iterative_candidates_kernel", "iterative_least_kernel"},
       {"matrix_fill_kernel", "matrix_merge_kernel"},
       4 * mebibyte},
      {"insertion",
       SearchMethod::insertion,
       &make_insertion,
       {"matrix_scores_kernel", "insertion_sort_kernel"},
       {"matrix_fill_kernel", "matrix_merge_kernel"},
       4 * mebibyte},
      {"threshold",
       SearchMethod::threshold,
       &make_threshold,
       {"matrix_scores_kernel", "threshold_cutoff_kernel", "threshold_compact_kernel",
        "threshold_select_kernel"},
       {"matrix_fill_kernel", "matrix_merge_kernel"},
       4 * mebibyte},
      {"multiselect",
       SearchMethod::multiselect,
       &make_multiselect,
       {"multiselect_norms_kernel", "multiselect_product_kernel", "quick_multiselect_kernel",
        "multiselect_candidates_kernel", "multiselect_rescore_kernel"},
       {"multiselect_exact_kernel", "matrix_fill_kernel", "matrix_merge_kernel"},
       4 * mebibyte},
      {"sbq", SearchMethod::sbq, &make_sbq, {"sbq_knn_kernel", "sbq_select_kernel"}, {}},
  };
  return all;
}

/// Returns true if the mangled name `launched` is the name of one of the kernels.
bool is_one_of(const std::string& launched, const Kernels& kernels) {
  return std::ranges::any_of(kernels, [&](const std::string& kernel) {
    return launched.find(std::to_string(kernel.size()) + kernel) != std::string::npos;
  });
}

std::ptrdiff_t launches_of(const std::string& kernel, const LaunchTrace& trace) {
  return std::ranges::count_if(trace.kernels(),
                               [&](const std::string& at) { return is_one_of(at, {kernel}); });
}

class VectorMethods : public testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  void search_exactly(const Case& c, std::uint32_t checked = 8) {
    expect_lists(c, lists_of(GetParam().make, c, GetParam().bytes_least), checked);
  }
};

TEST_P(VectorMethods, ListsAreExactForEveryShape) {
  for (const std::uint64_t seed : test::seeds(1)) {
    test::Random random(seed);
    constexpr std::uint32_t ks[] = {1, 7, 16, 64, 100, 128, 256, 257, 512, 2048};
    constexpr std::uint32_t row_counts[] = {1, 31, 32, 33, 127, 255, 256, 257, 1000, 4100};
    for (const std::uint32_t dimension : {1u, 2u, 5u, 16u, 31u, 32u, 33u, 65u, 128u, 300u, 784u})
      for (const std::uint32_t query_count : {1u, 2u, 15u, 17u, 33u, 64u, 65u, 129u, 300u, 900u}) {
        Case c;
        c.dimension = dimension;
        c.metric = metric_of(random.chance(0.5));
        c.k = random.pick(std::span<const std::uint32_t>(ks));
        c.first_row = random.chance(0.5) ? 0 : 777;
        c.rows = uniform(random, std::size_t{dimension} *
                                     random.pick(std::span<const std::uint32_t>(row_counts)));
        c.queries = uniform(random, std::size_t{dimension} * query_count);
        search_exactly(c, 6);
        if (HasFatalFailure()) FAIL() << test::replay_hint(seed);
      }
  }
}

TEST_P(VectorMethods, LongVectorsOfManyQueries) {
  test::Random random(3);
  for (const std::uint32_t query_count : {1u, 20u, 200u, 600u})
    for (const std::uint32_t k : {33u, 2048u}) {
      Case c;
      c.dimension = dimension_max;
      c.k = k;
      c.rows = uniform(random, std::size_t{500} * c.dimension);
      c.queries = uniform(random, std::size_t{query_count} * c.dimension);
      search_exactly(c, 4);
    }
}

TEST_P(VectorMethods, TiesAreBrokenByRow) {
  test::Random random(4);
  for (const std::uint32_t query_count : {1u, 16u, 100u})
    for (const std::uint32_t k : {1u, 64u, 128u, 2048u}) {
      Case c;
      c.dimension = 3;
      c.k = k;
      c.rows = integers(random, std::size_t{20'000} * 3, 3);
      c.queries = integers(random, std::size_t{query_count} * 3, 3);
      search_exactly(c, 5);
      c.metric = metric_of(true);
      search_exactly(c, 5);
    }
}

TEST_P(VectorMethods, AllRowsMayBeEqual) {
  for (const std::uint32_t query_count : {1u, 7u, 50u})
    for (const std::uint32_t k : {1u, 100u, 2048u}) {
      Case c;
      c.dimension = 5;
      c.k = k;
      c.rows.assign(std::size_t{30'000} * 5, 1.5f);
      c.queries.assign(std::size_t{query_count} * 5, 0.25f);
      search_exactly(c, 3);
    }
}

TEST_P(VectorMethods, RowsMayComeFarthestFirst) {
  for (const std::uint32_t query_count : {1u, 40u, 600u})
    for (const std::uint32_t k : {10u, 512u}) {
      Case c;
      c.dimension = 2;
      c.k = k;
      for (int row = 0; row < 20'000; ++row)
        c.rows.insert(c.rows.end(), {static_cast<float>(20'000 - row), 1.0f});
      c.queries.assign(std::size_t{query_count} * 2, 0.5f);
      search_exactly(c, 2);
    }
}

TEST_P(VectorMethods, AGraphIsExact) {
  test::Random random(5);
  for (const std::uint32_t rows : {1u, 2u, 40u, 64u, 65u, 3000u, 8193u, 17'000u})
    for (const std::uint32_t k : {1u, 16u, 200u}) {
      Case c;
      c.dimension = 9;
      c.k = k;
      c.metric = metric_of(k == 16);
      c.first_row = k == 1 ? 0 : 5;
      c.first_self = c.first_row;
      c.rows = rows % 2 == 0 ? integers(random, std::size_t{rows} * 9, 2)
                             : uniform(random, std::size_t{rows} * 9);
      c.queries = c.rows;
      search_exactly(c);
      c.bytes_max = 24 * mebibyte;
      search_exactly(c);
      const std::uint32_t begin = rows / 2;
      c.first_self = c.first_row + begin;
      c.queries.assign(c.rows.begin() + begin * 9, c.rows.begin() + std::min(rows, begin + 7) * 9);
      search_exactly(c);
    }
}

TEST_P(VectorMethods, SubnormalsAndTheLargestComponents) {
  test::Random random(7);
  for (const bool is_dot : {false, true})
    for (const float scale : {0x1p-75f, 0x1p-140f, component_max})
      for (const std::uint32_t query_count : {2u, 70u}) {
        Case c;
        c.metric = metric_of(is_dot);
        c.dimension = 37;
        c.k = 20;
        c.rows = uniform(random, std::size_t{700} * 37);
        c.queries = uniform(random, std::size_t{query_count} * 37);
        for (float& value : c.rows) value *= scale;
        for (float& value : c.queries) value *= scale;
        search_exactly(c);
      }
}

TEST_P(VectorMethods, WhatDoesNotFitGoesInBatches) {
  test::Random random(8);
  for (const std::uint32_t k : {20u, 2048u})
    for (const std::uint32_t query_count : {3u, 500u}) {
      Case c;
      c.dimension = 4;
      c.k = k;
      c.rows = integers(random, std::size_t{40'000} * c.dimension, 50);
      c.queries.assign(c.rows.begin() + 15'000 * 4, c.rows.begin() + (15'000 + query_count) * 4);
      c.first_self = 15'000;
      c.bytes_max = 3 * mebibyte;
      search_exactly(c, 4);
    }
  Case c;  // even the scores of a single query do not fit
  c.dimension = 2;
  c.k = 30;
  c.rows = integers(random, std::size_t{2'000'000} * 2, 500);
  c.queries = integers(random, std::size_t{20} * 2, 500);
  c.bytes_max = 3 * mebibyte;
  search_exactly(c, 3);
}

TEST_P(VectorMethods, ASearcherIsToldWhichOne) {
  test::Random random(9);
  Case c;
  c.dimension = 100;
  c.k = 20;
  c.rows = uniform(random, std::size_t{300'000} * c.dimension);  // 120 MB of rows
  c.queries.assign(c.rows.begin() + 150'000 * 100, c.rows.begin() + 150'040 * 100);
  c.first_self = 150'000;
  for (const std::uint64_t bytes_max : {64 * mebibyte, 200 * mebibyte, 2000 * mebibyte}) {
    VectorSearcherOptions options;
    options.memory_bytes_max = bytes_max;
    const auto searcher = make_vector_searcher(options);
    ASSERT_TRUE(searcher->supports(GetParam().method));
    searcher->set_corpus(c.metric, c.rows_view());
    const auto lists = lists_of(*searcher, c, GetParam().method);
    expect_lists(c, lists, 2);
    EXPECT_EQ(lists, lists_of(*searcher, c));
    EXPECT_EQ(lists, lists_of(*searcher, c, GetParam().method));
    EXPECT_EQ(lists, lists_of(*searcher, c, GetParam().method));
  }
}

TEST_P(VectorMethods, OfNoRowsListsAreEmpty) {
  Case c;
  c.dimension = 4;
  c.k = 3;
  c.queries.assign(8, 1);
  search_exactly(c);
}

TEST_P(VectorMethods, AllItsStagesRunAndNoOtherKernels) {
  test::Random random(10);
  Case c;
  c.dimension = 20;
  c.k = 5;
  c.rows = uniform(random, std::size_t{3000} * c.dimension);
  const auto searcher = make_vector_searcher(0);
  searcher->set_corpus(c.metric, c.rows_view());
  const Kernels before_the_method{"vector_unpack_kernel"};  // unpacks the rows from panels once,
                                                            // before the first search
  for (const std::uint32_t query_count : {1u, 50u, 1000u}) {
    c.queries = uniform(random, std::size_t{query_count} * c.dimension);
    const LaunchTrace trace;
    const auto lists = lists_of(*searcher, c, GetParam().method);
    for (const std::string& stage : GetParam().stages)
      EXPECT_GT(launches_of(stage, trace), 0) << stage;
    for (const std::string& kernel : trace.kernels())
      EXPECT_TRUE(is_one_of(kernel, GetParam().stages) || is_one_of(kernel, GetParam().others) ||
                  is_one_of(kernel, before_the_method))
          << kernel;
  }
  const LaunchTrace trace;
  const auto lists = lists_of(*searcher, c);
  EXPECT_GE(trace.kernels().size(), 2u);
  for (const std::string& kernel : trace.kernels())
    EXPECT_FALSE(is_one_of(kernel, GetParam().stages)) << kernel;
}

class KatoGraph : public VectorMethods {
 protected:
  static Case graph(std::uint32_t rows, std::uint32_t k, Metric metric = Metric::l2) {
    test::Random random(12);
    Case c;
    c.metric = metric;
    c.dimension = 6;
    c.k = k;
    c.rows = uniform(random, std::size_t{rows} * c.dimension);
    if (!allows_negatives(metric))
      for (float& component : c.rows) component = std::abs(component);
    EXPECT_FALSE(prepare_vectors(metric, c.rows_view(), c.rows).has_value());
    c.queries = c.rows;
    c.first_self = 0;
    return c;
  }

  static std::unique_ptr<VectorSearcher> searcher_of(const Case& c, std::uint64_t bytes_max) {
    VectorSearcherOptions options;
    options.memory_bytes_max = bytes_max;
    auto searcher = make_vector_searcher(options);
    searcher->set_corpus(c.metric, c.rows_view());
    return searcher;
  }

  /// Each grid on the diagonal is pushed once, and each grid to the right of it twice.
  static void expect_each_pair_once(const LaunchTrace& trace) {
    const std::ptrdiff_t computed = launches_of("kato_distances_kernel", trace);
    const std::ptrdiff_t pushed = launches_of("kato_select_kernel", trace);
    std::ptrdiff_t grids = 1;
    while (grids * grids < pushed) ++grids;
    EXPECT_GT(grids, 1);
    EXPECT_EQ(pushed, grids * grids);
    EXPECT_EQ(computed, grids * (grids + 1) / 2);
  }
};

// Section IV of Kato & Hosino: with g grids on a side, the grids on the diagonal and to its right
// are computed, and each other grid is their mirror image.
TEST_P(KatoGraph, ComputesEachPairOfRowsOnce) {
  test::Random random(11);
  Case c;
  c.dimension = 6;
  c.k = 10;
  c.rows = uniform(random, std::size_t{17'000} * c.dimension);
  c.queries = c.rows;
  c.first_self = 0;
  const LaunchTrace trace;
  search_exactly(c);
  constexpr std::ptrdiff_t grids = 3;  // grids on a side; each has at most 8,192 rows
  EXPECT_EQ(launches_of("kato_distances_kernel", trace), grids * (grids + 1) / 2);
  EXPECT_EQ(launches_of("kato_select_kernel", trace), grids * grids);
}

TEST_P(KatoGraph, ComputesEachPairOfRowsOnceInAnyTiles) {
  const Case c = graph(17'000, 10);
  const auto searcher = searcher_of(c, ~std::uint64_t{0});
  for (const std::uint32_t tile_rows : {1001u, 8192u, 17'000u, 100'000u}) {
    const LaunchTrace trace;
    expect_lists(c, graph_of(*searcher, c, tile_rows, SearchMethod::kato), 12);
    expect_each_pair_once(trace);
    const std::uint32_t rows = std::min(tile_rows, 17'000u);
    EXPECT_EQ(launches_of("kato_finish_kernel", trace), (17'000 - 1) / rows + 1);
    EXPECT_GT(searcher->device_ms(), 0);
  }
}

// The lists take 27 MB, more than the searcher has for the lists of one tile.
TEST_P(KatoGraph, ComputesEachPairOfRowsOnceThoughTheListsDoNotFitAtOnce) {
  const Case c = graph(17'000, 200);
  const auto searcher = searcher_of(c, 100 * mebibyte);
  for (const bool is_whole : {true, false}) {
    const LaunchTrace trace;
    expect_lists(c,
                 is_whole ? lists_of(*searcher, c, SearchMethod::kato)
                          : graph_of(*searcher, c, 17'000, SearchMethod::kato),
                 12);
    expect_each_pair_once(trace);
    EXPECT_GT(launches_of("kato_finish_kernel", trace), 1);
  }
}

TEST_P(KatoGraph, IsSearchedAsQueriesWhereItsHeapsDoNotFit) {
  const Case c = graph(20'000, 300);  // 48 MB of heaps
  const auto searcher = searcher_of(c, 40 * mebibyte);
  const LaunchTrace trace;
  const auto lists = lists_of(*searcher, c, SearchMethod::kato);
  expect_lists(c, lists, 12);
  EXPECT_EQ(lists, graph_of(*searcher, c, 3001, SearchMethod::kato));
  EXPECT_EQ(launches_of("kato_distances_kernel", trace), launches_of("kato_select_kernel", trace));
}

TEST_P(KatoGraph, IsSearchedAsQueriesWhereTheMetricIsNotSymmetric) {
  const Case c = graph(9000, 20, Metric::kullback_leibler);
  const auto searcher = searcher_of(c, ~std::uint64_t{0});
  const LaunchTrace trace;
  expect_lists(c, graph_of(*searcher, c, 2000, SearchMethod::kato), 12);
  EXPECT_EQ(launches_of("kato_distances_kernel", trace), launches_of("kato_select_kernel", trace));
}

TEST_P(KatoGraph, OtherSearchesFollowAGraph) {
  const Case c = graph(3000, 12);
  const auto searcher = searcher_of(c, ~std::uint64_t{0});
  Case part = c;
  part.first_self = 7;
  part.queries.assign(c.rows.begin() + 7 * c.dimension, c.rows.begin() + 900 * c.dimension);
  for (const SearchMethod method : {SearchMethod::kato, SearchMethod::automatic}) {
    expect_lists(c, graph_of(*searcher, c, 700, SearchMethod::kato), 12);
    expect_lists(part, lists_of(*searcher, part, method), 12);
  }
  searcher->set_corpus(c.metric, c.rows_view());
  expect_lists(c, graph_of(*searcher, c, 700, SearchMethod::kato), 12);
}

INSTANTIATE_TEST_SUITE_P(OneGpu, KatoGraph, testing::Values(methods().front()),
                         [](const auto& method) { return std::string(method.param.name); });
INSTANTIATE_TEST_SUITE_P(Published, VectorMethods, testing::ValuesIn(methods()),
                         [](const auto& method) { return std::string(method.param.name); });

}  // namespace
}  // namespace starling::gpu
