// The published methods that write a matrix of scores, each against an oracle bit for bit, and
// quick multi-select by itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/gpu_engine.hpp"
#include "gpu/launch_trace.hpp"
#include "gpu/vector_method.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t much = std::uint64_t{4} << 30;

struct Case {
  bool is_dot = false;
  std::uint32_t dimension = 1;
  std::vector<float> rows;
  std::vector<float> queries;
  std::uint32_t k = 1;
  VectorRow first_self = no_row;
  VectorRow first_row = 0;
  std::uint64_t bytes_max = much;
  std::uint32_t checked = 12;

  std::uint32_t row_count() const { return static_cast<std::uint32_t>(rows.size() / dimension); }
  std::uint32_t query_count() const {
    return static_cast<std::uint32_t>(queries.size() / dimension);
  }
};

float score_of(const Case& c, std::uint32_t query, std::uint32_t row) {
  const float* x = c.queries.data() + std::size_t{query} * c.dimension;
  const float* y = c.rows.data() + std::size_t{row} * c.dimension;
  float sum = 0;
  for (std::uint32_t j = 0; j < c.dimension; ++j) {
    const float t = x[j] - y[j];
    sum = c.is_dot ? std::fma(x[j], y[j], sum) : std::fma(t, t, sum);
  }
  return c.is_dot ? 0.0f - sum : sum;
}

std::vector<VectorNeighbor> nearest_of(std::vector<VectorNeighbor> all, std::uint32_t k) {
  std::sort(all.begin(), all.end());
  all.resize(k, {infinity, no_row});
  return all;
}

std::vector<VectorNeighbor> expected_list(const Case& c, std::uint32_t query) {
  std::vector<VectorNeighbor> all;
  for (std::uint32_t row = 0; row < c.row_count(); ++row)
    if (c.first_self == no_row || c.first_row + row != c.first_self + query)
      all.push_back({score_of(c, query, row), c.first_row + row});
  return nearest_of(std::move(all), c.k);
}

std::vector<float> uniform(test::Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit() * 2 - 1);
  return values;
}

std::vector<float> normal(test::Random& random, std::size_t count, double mean) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal() + mean);
  return values;
}

std::vector<float> integers(test::Random& random, std::size_t count, std::uint64_t below) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(below));
  return values;
}

DeviceBuffer<float> on_device(DeviceMemory& memory, const std::vector<float>& values,
                              const Stream& stream) {
  DeviceBuffer<float> buffer(memory, std::max<std::size_t>(values.size(), 1));
  copy_to_device_async(std::span<const float>(values), buffer, stream);
  return buffer;
}

struct Method {
  const char* name = "";
  std::unique_ptr<VectorMethod> (*make)(DeviceMemory&, std::uint64_t) = nullptr;
  std::vector<std::string> kernels;  ///< what their names contain
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

  static std::vector<VectorNeighbor> lists_of(const Case& c) {
    DeviceMemory memory(~std::uint64_t{0});
    const Stream stream;
    const DeviceBuffer<float> rows = on_device(memory, c.rows, stream);
    const DeviceBuffer<float> queries = on_device(memory, c.queries, stream);
    std::vector<VectorNeighbor> lists(std::size_t{c.query_count()} * c.k, {-1, 12345});
    DeviceBuffer<VectorNeighbor> on(memory, std::max<std::size_t>(lists.size(), 1));
    copy_to_device_async(std::span<const VectorNeighbor>(lists), on, stream);
    const std::uint64_t bytes_before = memory.bytes_used();
    const auto method = GetParam().make(memory, c.bytes_max);
    const DrainAtEnd drain(stream);
    method->search_async({rows.data(), c.row_count(), c.dimension, c.first_row, c.is_dot},
                         {queries.data(), c.query_count(), c.k, c.first_self, on.data()}, stream);
    // A few rows go in any case.
    EXPECT_LE(memory.bytes_used() - bytes_before, std::max(c.bytes_max, std::uint64_t{4} << 20));
    copy_to_host_async(static_cast<const VectorNeighbor*>(on.data()),
                       std::span<VectorNeighbor>(lists), stream);
    stream.wait();
    return lists;
  }

  /// Compares bits of some queries, spread over all.
  static void expect_exact(const Case& c) {
    const auto lists = lists_of(c);
    const std::uint32_t count = c.query_count();
    const std::uint32_t step = std::max(count / c.checked, 1u);
    for (std::uint32_t query = 0; query < count; query += step) {
      const auto expected = expected_list(c, query);
      for (std::uint32_t rank = 0; rank < c.k; ++rank) {
        const VectorNeighbor& found = lists[std::size_t{query} * c.k + rank];
        ASSERT_TRUE(found == expected[rank] &&
                    std::signbit(found.score) == std::signbit(expected[rank].score))
            << "query " << query << " of " << count << ", rank " << rank << ": row " << found.row
            << " at " << found.score << ", not " << expected[rank].row << " at "
            << expected[rank].score << "; rows " << c.row_count() << ", dimension " << c.dimension
            << ", k " << c.k << (c.is_dot ? ", inner product" : "");
      }
    }
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
        c.is_dot = random.chance(0.5);
        c.k = random.pick(std::span<const std::uint32_t>(ks));
        c.rows = uniform(random, std::size_t{dimension} *
                                     random.pick(std::span<const std::uint32_t>(row_counts)));
        c.queries = uniform(random, std::size_t{dimension} * query_count);
        c.first_row = random.chance(0.5) ? 0 : 1'000'000;
        c.checked = 3;
        expect_exact(c);
        if (HasFatalFailure()) FAIL() << test::replay_hint(seed);
      }
  }
}

TEST_P(MatrixMethods, LongVectors) {
  test::Random random(3);
  for (const bool is_dot : {false, true}) {
    Case c;
    c.is_dot = is_dot;
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
      c.is_dot = is_dot;
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
      c.is_dot = is_dot;
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
      c.is_dot = is_dot;
      c.dimension = 37;
      c.k = 20;
      c.rows = uniform(random, std::size_t{2'000} * 37);
      c.queries = uniform(random, std::size_t{70} * 37);
      for (float& value : c.rows) value *= scale;
      for (float& value : c.queries) value *= scale;
      expect_exact(c);
    }
  Case c;  // one row outweighs all others
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
        c.is_dot = k == 5;
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
        Method{"multiselect",
               make_multiselect,
               {"multiselect_norms_kernel", "multiselect_product_kernel",
                "quick_multiselect_kernel", "multiselect_candidates_kernel",
                "multiselect_rescore_kernel", "multiselect_exact_kernel"}}),
    [](const auto& method) { return std::string(method.param.name); });

}  // namespace
}  // namespace starling::gpu
