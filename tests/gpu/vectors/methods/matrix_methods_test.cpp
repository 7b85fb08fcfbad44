// SPDX-License-Identifier: Apache-2.0
// Tests the published methods that write a matrix of scores: that their lists are exact, and which
// kernels they launch.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "starling/gpu/device/launch_trace.hpp"
#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

/// A method may take this much memory even if its limit is lower, because it must hold at least a
/// few rows.
constexpr std::uint64_t bytes_least = std::uint64_t{4} << 20;

struct Method {
  const char* name = "";
  MakeMethod make = nullptr;
  std::vector<std::string> kernels;  ///< a part of the name of each kernel that the method launches
};
std::ostream& operator<<(std::ostream& out, const Method& method) {
  return out << method.name;
}

class MatrixMethods : public testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  /// Searches with the method and calls expect_lists on the result.
  static void expect_exact(const Case& c, std::uint32_t checked = 12) {
    expect_lists(c, lists_of(GetParam().make, c, bytes_least), checked);
  }
};

TEST_P(MatrixMethods, ListsAreExactForEveryShape) {
  for (const std::uint64_t seed : test::seeds(1)) {
    test::Random random(seed);
    constexpr std::uint32_t ks[] = {1, 7, 16, 100, 128, 512, 2048};
    constexpr std::uint32_t row_counts[] = {1, 31, 32, 33, 127, 129, 257, 1000, 4100, 9001};
    constexpr std::uint32_t query_counts[] = {1, 2, 5, 31, 33, 64, 128, 129, 300};
    for (const std::uint32_t dimension : {1u, 2u, 5u, 31u, 32u, 33u, 65u, 128u, 300u, 784u})
      for (const std::uint32_t query_count : query_counts) {
        Case c;
        c.dimension = dimension;
        c.metric = metric_of(random.chance(0.5));
        c.k = random.pick(std::span<const std::uint32_t>(ks));
        c.rows = uniform(random, std::size_t{dimension} *
                                     random.pick(std::span<const std::uint32_t>(row_counts)));
        c.queries = uniform(random, std::size_t{dimension} * query_count);
        c.first_row = random.chance(0.5) ? 0 : 1'000'000;
        expect_exact(c, 3);
        if (HasFatalFailure()) FAIL() << test::replay_hint(seed);
      }
  }
}

TEST_P(MatrixMethods, LongVectors) {
  test::Random random(3);
  for (const bool is_dot : {false, true}) {
    Case c;
    c.metric = metric_of(is_dot);
    c.dimension = dimension_max;
    c.k = 33;
    c.rows = uniform(random, std::size_t{700} * c.dimension);
    c.queries = uniform(random, std::size_t{140} * c.dimension);
    expect_exact(c);
  }
}

TEST_P(MatrixMethods, TiesAreBrokenByRow) {
  test::Random random(4);
  for (const std::uint32_t k : {1u, 64u, 2048u})
    for (const bool is_dot : {false, true}) {
      Case c;
      c.metric = metric_of(is_dot);
      c.dimension = 3;
      c.k = k;
      c.rows = integers(random, std::size_t{9'000} * 3, 3);
      c.queries = integers(random, std::size_t{70} * 3, 3);
      expect_exact(c);
    }
}

TEST_P(MatrixMethods, AllRowsMayBeEqual) {
  for (const std::uint32_t k : {1u, 100u, 2048u}) {
    Case c;
    c.dimension = 5;
    c.k = k;
    c.rows.assign(std::size_t{30'000} * 5, 1.5f);
    c.queries.assign(std::size_t{40} * 5, 0.25f);
    expect_exact(c);
  }
}

TEST_P(MatrixMethods, RowsMayComeFarthestFirst) {
  for (const std::uint32_t k : {10u, 512u}) {
    Case c;
    c.dimension = 2;
    c.k = k;
    for (int row = 0; row < 8'000; ++row)
      c.rows.insert(c.rows.end(), {static_cast<float>(8'000 - row), 1.0f});
    c.queries.assign(std::size_t{33} * 2, 0.5f);
    expect_exact(c);
  }
}

TEST_P(MatrixMethods, MeansFarFromTheOrigin) {
  test::Random random(5);
  for (const double mean : {10.0, 100.0, 1000.0, 1e6})
    for (const bool is_dot : {false, true}) {
      Case c;
      c.metric = metric_of(is_dot);
      c.dimension = 64;
      c.k = 20;
      c.rows = normal(random, std::size_t{6'000} * 64, mean);
      c.queries = normal(random, std::size_t{150} * 64, mean);
      expect_exact(c);
    }
}

TEST_P(MatrixMethods, TightClusters) {
  test::Random random(6);
  Case c;
  c.dimension = 16;
  c.k = 100;
  const auto centres = normal(random, 8 * 16, 50);
  for (std::uint32_t row = 0; row < 8'000; ++row)
    for (std::uint32_t j = 0; j < 16; ++j)
      c.rows.push_back(centres[row % 8 * 16 + j] + static_cast<float>(random.normal() * 1e-4));
  c.queries.assign(c.rows.begin() + 16 * 4'000, c.rows.begin() + 16 * 4'200);
  c.first_self = 4'000;
  expect_exact(c);
}

TEST_P(MatrixMethods, AGridAtUtmCoordinates) {
  Case c;
  c.dimension = 2;
  c.k = 64;
  for (int x = 0; x < 100; ++x)
    for (int y = 0; y < 100; ++y)
      c.rows.insert(c.rows.end(),
                    {500'000.0f + static_cast<float>(x), 5'000'000.0f + static_cast<float>(y)});
  c.queries.assign(c.rows.begin() + 2 * 5'000, c.rows.begin() + 2 * 5'300);
  c.first_self = 5'000;
  expect_exact(c);
}

TEST_P(MatrixMethods, ARowIsNotItsOwnNeighbour) {
  test::Random random(7);
  for (const std::uint32_t rows : {1u, 2u, 40u, 3000u})
    for (const std::uint32_t k : {1u, 16u, 200u}) {
      Case c;
      c.dimension = 9;
      c.k = k;
      c.rows = uniform(random, std::size_t{rows} * 9);
      c.queries = c.rows;
      c.first_row = 77;
      c.first_self = 77;
      expect_exact(c);
    }
}

TEST_P(MatrixMethods, SubnormalsAndTheLargestComponents) {
  test::Random random(8);
  for (const bool is_dot : {false, true})
    for (const float scale : {0x1p-70f, 0x1p-75f, 0x1p-140f, component_max}) {
      Case c;
      c.metric = metric_of(is_dot);
      c.dimension = 37;
      c.k = 20;
      c.rows = uniform(random, std::size_t{2'000} * 37);
      c.queries = uniform(random, std::size_t{70} * 37);
      for (float& value : c.rows) value *= scale;
      for (float& value : c.queries) value *= scale;
      expect_exact(c);
    }
  Case c;  // one component of one row is far larger than all others
  c.dimension = 4;
  c.k = 5;
  c.rows = uniform(random, std::size_t{3'000} * 4);
  c.rows[400] = component_max;
  c.queries = uniform(random, std::size_t{50} * 4);
  c.queries[0] = -component_max;
  expect_exact(c);
}

TEST_P(MatrixMethods, WhatDoesNotFitGoesInBatchesAndParts) {
  test::Random random(9);
  for (const std::uint32_t k : {5u, 300u})
    for (const std::uint32_t query_count : {3u, 700u})
      for (const std::uint64_t bytes_max : {std::uint64_t{1} << 23, std::uint64_t{5} << 20}) {
        Case c;
        c.dimension = 6;
        c.k = k;
        c.metric = metric_of(k == 5);
        c.bytes_max = bytes_max;
        c.rows = integers(random, std::size_t{25'000} * 6, 9);
        c.queries.assign(c.rows.begin() + 24'000 * 6, c.rows.begin() + (24'000 + query_count) * 6);
        c.first_self = 24'000;
        expect_exact(c);
      }
}

TEST_P(MatrixMethods, NoRowsAndNoQueries) {
  Case c;
  c.dimension = 4;
  c.k = 3;
  c.queries.assign(8, 1);
  expect_exact(c);
  c.rows = c.queries;
  c.queries.clear();
  expect_exact(c);
}

TEST_P(MatrixMethods, RunsItsOwnKernelsOnly) {
  test::Random random(10);
  Case c;
  c.dimension = 8;
  c.k = 4;
  c.rows = uniform(random, std::size_t{5'000} * 8);
  c.queries = uniform(random, std::size_t{200} * 8);
  const LaunchTrace trace;
  expect_exact(c);
  const auto contains = [](const std::string& name, const std::string& part) {
    return name.find(part) != std::string::npos;
  };
  for (const std::string& part : GetParam().kernels)
    EXPECT_TRUE(std::any_of(trace.kernels().begin(), trace.kernels().end(),
                            [&](const std::string& name) { return contains(name, part); }))
        << part;
  for (const std::string& name : trace.kernels())
    EXPECT_TRUE(std::any_of(GetParam().kernels.begin(), GetParam().kernels.end(),
                            [&](const std::string& part) { return contains(name, part); }))
        << name;
}

INSTANTIATE_TEST_SUITE_P(
    Published, MatrixMethods,
    testing::Values(
        Method{"iterative",
               make_iterative,
               {"matrix_scores_kernel", "iterative_candidates_kernel", "iterative_least_kernel"}},
        Method{"insertion", make_insertion, {"matrix_scores_kernel", "insertion_sort_kernel"}},
        Method{"threshold",
               make_threshold,
               {"matrix_scores_kernel", "threshold_cutoff_kernel", "threshold_compact_kernel",
                "threshold_select_kernel"}},
        Method{"multiselect",
               make_multiselect,
               {"multiselect_norms_kernel", "multiselect_product_kernel",
                "quick_multiselect_kernel", "multiselect_candidates_kernel",
                "multiselect_rescore_kernel", "multiselect_exact_kernel"}}),
    [](const auto& method) { return std::string(method.param.name); });

}  // namespace
}  // namespace starling::gpu
