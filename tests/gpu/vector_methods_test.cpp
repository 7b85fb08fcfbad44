#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/gpu_engine.hpp"
#include "gpu/launch_trace.hpp"
#include "gpu/vector_method.hpp"
#include "gpu/vector_searcher.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

struct Method {
  const char* name;  ///< its kernels begin with it
  SearchMethod method;
  std::unique_ptr<VectorMethod> (*make)(DeviceMemory& memory, std::uint64_t bytes_max);
  const char* shared;  ///< kernels that other methods have, too
};
void PrintTo(const Method& method, std::ostream* out) {
  *out << method.name;
}

constexpr Method methods[] = {
    {"kato", SearchMethod::kato, &make_kato, "kato_"},
    {"cuknn", SearchMethod::cuknn, &make_cuknn, "cuknn_"},
    {"iterative", SearchMethod::iterative, &make_iterative, "matrix_"},
    {"insertion", SearchMethod::insertion, &make_insertion, "matrix_"},
    {"multiselect", SearchMethod::multiselect, &make_multiselect, "matrix_"},
    {"sbq", SearchMethod::sbq, &make_sbq, "sbq_"},
};

struct Case {
  bool is_dot = false;
  std::uint32_t dimension = 1;
  std::vector<float> rows;
  std::vector<float> queries;
  std::uint32_t k = 1;
  VectorRow first_self = no_row;
  VectorRow first_row = 0;  ///< what row 0 is called
  std::uint64_t bytes_max = 1024 * mebibyte;

  VectorsView rows_view() const { return {rows, dimension}; }
  VectorsView queries_view() const { return {queries, dimension}; }
  Metric metric() const { return is_dot ? Metric::inner_product : Metric::l2; }
};

float score_of(bool is_dot, std::span<const float> x, std::span<const float> y) {
  float sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float t = x[j] - y[j];
    sum = is_dot ? std::fma(x[j], y[j], sum) : std::fma(t, t, sum);
  }
  return is_dot ? 0.0f - sum : sum;
}

std::vector<VectorNeighbor> expected_list(const Case& c, std::uint32_t query) {
  std::vector<VectorNeighbor> all;
  for (VectorRow at = 0; at < c.rows_view().rows(); ++at) {
    const VectorRow row = c.first_row + at;
    if (c.first_self == no_row || row != c.first_self + query)
      all.push_back({score_of(c.is_dot, c.rows_view().row(at), c.queries_view().row(query)), row});
  }
  std::sort(all.begin(), all.end());
  all.resize(c.k, {infinity, no_row});
  return all;
}

/// Compares bits of up to `checked` queries, spread over all.
void expect_exact(const Case& c, std::span<const VectorNeighbor> lists, std::uint32_t checked) {
  const std::uint32_t count = c.queries_view().rows();
  const std::uint32_t step = std::max(count / checked, 1u);
  for (std::uint32_t query = 0; query < count; query += step) {
    // The last ones are as telling as the first.
    const std::uint32_t asked = query + step < count ? query : count - 1;
    const auto expected = expected_list(c, asked);
    for (std::uint32_t rank = 0; rank < c.k; ++rank) {
      const VectorNeighbor& found = lists[std::size_t{asked} * c.k + rank];
      ASSERT_TRUE(found == expected[rank] &&
                  std::signbit(found.score) == std::signbit(expected[rank].score))
          << "query " << asked << " of " << count << ", rank " << rank << ": row " << found.row
          << " at " << found.score << ", not " << expected[rank].row << " at "
          << expected[rank].score << "; rows " << c.rows_view().rows() << ", dimension "
          << c.dimension << ", k " << c.k;
    }
  }
}

std::vector<float> uniform(test::Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit() * 2 - 1);
  return values;
}

std::vector<float> integers(test::Random& random, std::size_t count, std::uint64_t below) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(below));
  return values;
}

class VectorMethods : public testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  /// By the method itself, over lists that hold something else before.
  void search_exactly(const Case& c, std::uint32_t checked = 8) {
    DeviceMemory memory(~std::uint64_t{0});
    const Stream stream;
    DeviceBuffer<float> rows(memory, std::max<std::size_t>(c.rows.size(), 1));
    DeviceBuffer<float> queries(memory, c.queries.size());
    std::vector<VectorNeighbor> lists(std::size_t{c.queries_view().rows()} * c.k, {-1, 12345});
    DeviceBuffer<VectorNeighbor> found(memory, lists.size());
    const std::uint64_t bytes_others = memory.bytes_used();
    const auto method = GetParam().make(memory, c.bytes_max);
    copy_to_device_async(std::span<const float>(c.rows), rows, stream);
    copy_to_device_async(std::span<const float>(c.queries), queries, stream);
    copy_to_device_async(std::span<const VectorNeighbor>(lists), found, stream);
    RowMajorView corpus;
    corpus.components = rows.data();
    corpus.count = c.rows_view().rows();
    corpus.dimension = c.dimension;
    corpus.first_row = c.first_row;
    corpus.is_dot = c.is_dot;
    DeviceSearch search;
    search.queries = queries.data();
    search.count = c.queries_view().rows();
    search.k = c.k;
    search.first_self = c.first_self;
    search.lists = found.data();
    method->search_async(corpus, search, stream);
    copy_to_host_async(static_cast<const VectorNeighbor*>(found.data()),
                       std::span<VectorNeighbor>(lists), stream);
    stream.wait();
    EXPECT_LE(memory.bytes_used() - bytes_others, c.bytes_max);
    expect_exact(c, lists, checked);
  }

  static std::vector<VectorNeighbor> lists_of(VectorSearcher& searcher, SearchMethod method,
                                              const Case& c) {
    VectorSearch search;
    search.queries = c.queries_view();
    search.k = c.k;
    search.first_self = c.first_self;
    search.method = method;
    std::vector<VectorNeighbor> lists(std::size_t{search.queries.rows()} * c.k, {-1, 12345});
    searcher.search(search, lists);
    return lists;
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
        c.is_dot = random.chance(0.5);
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
      c.is_dot = true;
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
      c.is_dot = k == 16;
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
        c.is_dot = is_dot;
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
  Case c;  // not even one query with all rows
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
  c.rows = uniform(random, std::size_t{300'000} * c.dimension);  // 120 MB
  c.queries.assign(c.rows.begin() + 150'000 * 100, c.rows.begin() + 150'040 * 100);
  c.first_self = 150'000;
  for (const std::uint64_t bytes_max : {64 * mebibyte, 200 * mebibyte, 2000 * mebibyte}) {
    VectorSearcherOptions options;
    options.memory_bytes_max = bytes_max;
    const auto searcher = make_vector_searcher(options);
    ASSERT_TRUE(searcher->supports(GetParam().method));
    searcher->set_corpus(c.metric(), c.rows_view());
    const auto lists = lists_of(*searcher, GetParam().method, c);
    expect_exact(c, lists, 2);
    EXPECT_EQ(lists, lists_of(*searcher, SearchMethod::automatic, c));
    EXPECT_EQ(lists, lists_of(*searcher, GetParam().method, c));
    EXPECT_EQ(lists, lists_of(*searcher, GetParam().method, c));
  }
}

TEST_P(VectorMethods, OfNoRowsListsAreEmpty) {
  Case c;
  c.dimension = 4;
  c.k = 3;
  c.queries.assign(8, 1);
  search_exactly(c);
}

TEST_P(VectorMethods, OnlyItsOwnKernelsRun) {
  test::Random random(10);
  Case c;
  c.dimension = 20;
  c.k = 5;
  c.rows = uniform(random, std::size_t{3000} * c.dimension);
  const auto searcher = make_vector_searcher(0);
  searcher->set_corpus(c.metric(), c.rows_view());
  const auto is_own = [](const std::string& kernel) {
    return kernel.find(std::string(GetParam().name) + "_") != std::string::npos;
  };
  for (const std::uint32_t query_count : {1u, 50u, 1000u}) {
    c.queries = uniform(random, std::size_t{query_count} * c.dimension);
    const LaunchTrace trace;
    const auto lists = lists_of(*searcher, GetParam().method, c);
    EXPECT_GE(trace.kernels().size(), 2u);
    for (const std::string& kernel : trace.kernels())
      EXPECT_TRUE(is_own(kernel) || kernel.find(GetParam().shared) != std::string::npos) << kernel;
    EXPECT_TRUE(std::any_of(trace.kernels().begin(), trace.kernels().end(), is_own));
  }
  const LaunchTrace trace;
  const auto lists = lists_of(*searcher, SearchMethod::automatic, c);
  EXPECT_GE(trace.kernels().size(), 2u);
  EXPECT_FALSE(std::any_of(trace.kernels().begin(), trace.kernels().end(), is_own));
}

INSTANTIATE_TEST_SUITE_P(Published, VectorMethods, testing::ValuesIn(methods),
                         [](const auto& method) { return std::string(method.param.name); });

}  // namespace
}  // namespace starling::gpu
