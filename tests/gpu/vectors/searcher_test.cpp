// SPDX-License-Identifier: Apache-2.0
// Tests the searcher on one device with the method that it chooses itself. Its lists are exact for
// all shapes and data, and its memory stays within its limit.
#include <thread>

#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

using CudaVectors = CudaVectorCase;

TEST_F(CudaVectors, ListsAreExactForEveryShape) {
  for (const std::uint64_t seed : test::seeds(1)) {
    test::Random random(seed);
    constexpr std::uint32_t ks[] = {1, 7, 16, 64, 128, 512, 2048};
    constexpr std::uint32_t row_counts[] = {1, 31, 32, 33, 127, 257, 1000, 4100};
    constexpr std::uint32_t query_counts[] = {1, 2, 3, 5, 9, 16, 17, 31, 33, 64, 65, 128, 129, 300};
    for (const std::uint32_t dimension : {1u, 2u, 5u, 31u, 32u, 33u, 65u, 128u, 300u, 784u})
      for (const std::uint32_t query_count : query_counts) {
        Case c;
        c.dimension = dimension;
        c.metric = random.chance(0.5) ? Metric::l2 : Metric::inner_product;
        c.k = random.pick(std::span<const std::uint32_t>(ks));
        c.rows = uniform(random, std::size_t{dimension} *
                                     random.pick(std::span<const std::uint32_t>(row_counts)));
        c.queries = uniform(random, std::size_t{dimension} * query_count);
        expect_exact(c, ~std::uint64_t{0}, 8);
        if (HasFatalFailure()) FAIL() << test::replay_hint(seed);
      }
  }
}

TEST_F(CudaVectors, LongVectorsOfManyQueries) {
  test::Random random(3);
  for (const std::uint32_t query_count : {1u, 4u, 16u, 20u, 200u}) {
    Case c;
    c.dimension = dimension_max;
    c.k = 33;
    c.rows = uniform(random, std::size_t{500} * c.dimension);
    c.queries = uniform(random, std::size_t{query_count} * c.dimension);
    expect_exact(c, ~std::uint64_t{0}, 8);
  }
}

TEST_F(CudaVectors, VeryManyQueriesOfFewComponents) {
  test::Random random(11);
  constexpr std::uint32_t query_count = (1u << 17) + 77;
  for (const std::uint32_t dimension : {1u, 3u, 4u, 5u, 8u, 9u, 12u, 13u, 16u})
    for (const std::uint32_t k : {1u, 7u, 8u, 9u, 16u}) {
      Case c;
      c.dimension = dimension;
      c.k = k;
      c.metric = random.chance(0.5) ? Metric::l2 : Metric::inner_product;
      constexpr std::uint32_t row_counts[] = {1, 7, 33, 256, 257, 1000};
      const std::size_t rows = random.pick(std::span<const std::uint32_t>(row_counts));
      // With integers below 4, many rows are equal.
      const bool has_ties = random.chance(0.5);
      const auto values = [&](std::size_t count) {
        return has_ties ? integers(random, count, 4) : uniform(random, count);
      };
      c.rows = values(rows * dimension);
      c.queries = values(std::size_t{query_count} * dimension);
      expect_exact(c, ~std::uint64_t{0}, 300);
      ASSERT_FALSE(HasFatalFailure());
    }
  Case graph;
  graph.dimension = 2;
  graph.k = 5;
  graph.rows = integers(random, std::size_t{query_count} * 2, 1000);
  graph.queries = graph.rows;
  graph.first_self = 0;
  expect_exact(graph, ~std::uint64_t{0}, 30);
}

// The searcher's estimates of scores are less exact for rows far from the origin, and for very
// small or very large values.
TEST_F(CudaVectors, VeryManyQueriesFarFromTheOriginAndOfEverySize) {
  test::Random random(12);
  constexpr std::uint32_t query_count = 1u << 17;
  for (const double mean : {0.0, 3.0, 30.0, 1000.0, 1e6})
    for (const float scale : {1.0f, 0x1p-62f, 0x1p-80f, 0x1p34f}) {
      Case c;
      constexpr std::uint32_t dimensions[] = {2, 8, 16};
      c.dimension = random.pick(std::span<const std::uint32_t>(dimensions));
      c.k = 7;
      c.rows = normal(random, std::size_t{3000} * c.dimension, mean);
      c.queries = normal(random, std::size_t{query_count} * c.dimension, mean);
      // Some queries are equal to rows, and others lie very close to rows.
      for (std::size_t i = 0; i < c.rows.size() / 2; ++i)
        c.queries[i] = c.rows[i] * (i / c.dimension % 3 == 0 ? 1.0f : 1.0f + 0x1p-20f);
      for (float& component : c.rows) component *= scale;
      for (float& component : c.queries) component *= scale;
      expect_exact(c, ~std::uint64_t{0}, 2000);
      ASSERT_FALSE(HasFatalFailure()) << "mean " << mean << ", scale " << scale;
    }
}

TEST_F(CudaVectors, TiesAreBrokenByRow) {
  test::Random random(4);
  for (const std::uint32_t query_count : {1u, 16u, 100u})
    for (const std::uint32_t k : {1u, 64u, 128u, 2048u}) {
      Case c;
      c.dimension = 3;
      c.k = k;
      c.rows = integers(random, std::size_t{20'000} * 3, 3);
      c.queries = integers(random, std::size_t{query_count} * 3, 3);
      expect_exact(c, ~std::uint64_t{0}, 5);
      c.metric = Metric::inner_product;
      expect_exact(c, ~std::uint64_t{0}, 5);
    }
}

TEST_F(CudaVectors, AllRowsMayBeEqual) {
  for (const std::uint32_t query_count : {1u, 7u, 50u})
    for (const std::uint32_t k : {1u, 100u, 2048u}) {
      Case c;
      c.dimension = 5;
      c.k = k;
      c.rows.assign(std::size_t{30'000} * 5, 1.5f);
      c.queries.assign(std::size_t{query_count} * 5, 0.25f);
      expect_exact(c, ~std::uint64_t{0}, 3);
    }
}

TEST_F(CudaVectors, RowsMayComeFarthestFirst) {
  for (const std::uint32_t query_count : {1u, 16u, 40u})
    for (const std::uint32_t k : {10u, 64u, 512u}) {
      Case c;
      c.dimension = 2;
      c.k = k;
      for (int row = 0; row < 200'000; ++row)
        c.rows.insert(c.rows.end(), {static_cast<float>(200'000 - row), 1.0f});
      c.queries.assign(std::size_t{query_count} * 2, 0.5f);
      expect_exact(c, ~std::uint64_t{0}, 2);
    }
}

TEST_F(CudaVectors, AGridAtUtmCoordinates) {
  Case c;
  c.dimension = 2;
  c.k = 64;
  for (int x = 0; x < 300; ++x)
    for (int y = 0; y < 300; ++y)
      c.rows.insert(c.rows.end(),
                    {500'000.0f + static_cast<float>(x), 5'000'000.0f + static_cast<float>(y)});
  c.queries.assign(c.rows.begin() + 40'000, c.rows.begin() + 40'000 + 2 * 300);
  c.first_self = 20'000;
  expect_exact(c);
}

TEST_F(CudaVectors, ARowIsNotItsOwnNeighbour) {
  test::Random random(6);
  for (const std::uint32_t rows : {1u, 2u, 40u, 3000u})
    for (const std::uint32_t k : {1u, 16u, 200u}) {
      Case c;
      c.dimension = 9;
      c.k = k;
      c.rows = uniform(random, std::size_t{rows} * 9);
      c.queries = c.rows;
      c.first_self = 0;
      expect_exact(c);
      const std::uint32_t begin = rows / 2;
      c.first_self = begin;
      c.queries.assign(c.rows.begin() + begin * 9, c.rows.begin() + std::min(rows, begin + 7) * 9);
      expect_exact(c);
    }
}

TEST_F(CudaVectors, SubnormalsAndTheLargestComponents) {
  test::Random random(7);
  for (const Metric metric : {Metric::l2, Metric::inner_product})
    for (const float scale : {0x1p-75f, 0x1p-140f, component_max})
      for (const std::uint32_t query_count : {2u, 70u}) {
        Case c;
        c.metric = metric;
        c.dimension = 37;
        c.k = 20;
        c.rows = uniform(random, std::size_t{700} * 37);
        c.queries = uniform(random, std::size_t{query_count} * 37);
        for (float& value : c.rows) value *= scale;
        for (float& value : c.queries) value *= scale;
        expect_exact(c);
      }
}

// The corpus has fewer panels than warps that run at once, as many, or more.
TEST_F(CudaVectors, FewQueriesAmongMoreAndMoreRows) {
  test::Random random(13);
  for (const std::uint32_t rows : {32u, 3'000u, 67'000u, 101'344u, 101'376u, 101'408u, 140'000u})
    for (const std::uint32_t query_count : {1u, 16u})
      for (const std::uint32_t k : {64u, 128u, 129u}) {
        Case c;
        c.dimension = 3;
        c.k = k;
        c.metric = random.chance(0.5) ? Metric::l2 : Metric::inner_product;
        c.rows = random.chance(0.5) ? uniform(random, std::size_t{rows} * 3)
                                    : integers(random, std::size_t{rows} * 3, 20);
        c.queries = uniform(random, std::size_t{query_count} * 3);
        expect_exact(c, ~std::uint64_t{0}, 4);
        ASSERT_FALSE(HasFatalFailure());
      }
}

// Each search launches a grid that needs the whole device, so the two searchers must take turns.
TEST_F(CudaVectors, TwoSearchersOfOneDeviceAnswerAtOnce) {
  const auto ask_often = [](std::uint64_t seed) {
    test::Random random(seed);
    Case c;
    c.dimension = 40;
    c.k = 64;
    c.rows = uniform(random, std::size_t{60'000} * c.dimension);
    c.queries = uniform(random, std::size_t{8} * c.dimension);
    const auto searcher = make_vector_searcher({});
    searcher->set_corpus(c.metric, c.rows_view());
    for (int round = 0; round < 200; ++round) {
      const auto lists = lists_of(*searcher, c);
      expect_lists(c, lists, 1);
    }
  };
  std::thread other(ask_often, 14);
  ask_often(15);
  other.join();
}

TEST_F(CudaVectors, WhatDoesNotFitGoesInParts) {
  test::Random random(8);
  constexpr std::uint64_t bytes_max = std::uint64_t{64} << 20;
  for (const std::uint32_t k : {20u, 700u})
    for (const std::uint32_t query_count : {3u, 500u}) {
      Case c;
      c.dimension = 100;
      c.k = k;
      c.rows = uniform(random, std::size_t{300'000} * c.dimension);  // 120 MB of rows
      c.queries.assign(c.rows.begin() + 150'000 * 100,
                       c.rows.begin() + (150'000 + query_count) * 100);
      c.first_self = 150'000;
      expect_exact(c, bytes_max, 3);
    }
  Case c;  // the corpus fits; lists with an entry for each row do not
  c.dimension = 2;
  c.k = 2048;
  c.rows = integers(random, std::size_t{1'000'000} * 2, 500);
  c.queries = integers(random, std::size_t{300} * 2, 500);
  expect_exact(c, bytes_max, 4);
}

TEST_F(CudaVectors, ACorpusOfMoreThanAGibibyteInOne) {
  test::Random random(12);
  Case c;
  c.dimension = 128;
  c.k = 100;
  // Repeats a million random numbers, because drawing all of them would take longer.
  const std::vector<float> some = uniform(random, 1'000'003);
  c.rows.resize(std::size_t{2'500'000} * c.dimension);
  for (std::size_t i = 0; i < c.rows.size(); ++i) c.rows[i] = some[i * 7 % some.size()];
  c.queries = uniform(random, std::size_t{40} * c.dimension);
  for (const FilterUse filter : {FilterUse::never, FilterUse::where_faster})
    expect_exact(c, std::uint64_t{1} << 30, 3, {filter});
}

TEST_F(CudaVectors, NoRowsAndNoQueries) {
  Case c;
  c.dimension = 4;
  c.k = 3;
  c.queries.assign(8, 1);
  expect_exact(c);
  c.rows = c.queries;
  c.queries.clear();
  expect_exact(c);
}

TEST_F(CudaVectors, ACorpusReplacesAnother) {
  test::Random random(9);
  const auto searcher = make_vector_searcher(0);
  for (const std::uint32_t rows : {5000u, 10u, 9000u}) {
    Case c;
    c.dimension = rows == 10 ? 300 : 12;
    c.k = 5;
    c.rows = uniform(random, std::size_t{rows} * c.dimension);
    c.queries = uniform(random, std::size_t{3} * c.dimension);
    searcher->set_corpus(c.metric, c.rows_view());
    const auto lists = lists_of(*searcher, c);
    const auto expected = expected_list(c, 2);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), lists.begin() + 10));
  }
}

}  // namespace
}  // namespace starling::gpu
