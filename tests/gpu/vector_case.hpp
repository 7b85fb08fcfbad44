// Searches on the device against an oracle that sorts everything, bit for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/gpu_engine.hpp"
#include "gpu/vector_searcher.hpp"
#include "tests/support/random.hpp"

namespace starling::gpu {

struct Case {
  Metric metric = Metric::l2;
  std::uint32_t dimension = 1;
  std::vector<float> rows;
  std::vector<float> queries;
  std::uint32_t k = 1;
  VectorRow first_self = no_row;

  VectorsView rows_view() const { return {rows, dimension}; }
  VectorsView queries_view() const { return {queries, dimension}; }
};

inline float score_of(Metric metric, std::span<const float> x, std::span<const float> y) {
  float sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float t = x[j] - y[j];
    sum = metric == Metric::inner_product ? std::fma(x[j], y[j], sum) : std::fma(t, t, sum);
  }
  return metric == Metric::inner_product ? 0.0f - sum : sum;
}

inline std::vector<VectorNeighbor> expected_list(const Case& c, std::uint32_t query) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<VectorNeighbor> all;
  for (VectorRow row = 0; row < c.rows_view().rows(); ++row)
    if (c.first_self == no_row || row != c.first_self + query)
      all.push_back({score_of(c.metric, c.rows_view().row(row), c.queries_view().row(query)), row});
  const std::size_t kept = std::min<std::size_t>(c.k, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end());
  all.resize(c.k, {infinity, no_row});
  std::fill(all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
            VectorNeighbor{infinity, no_row});
  return all;
}

inline std::vector<float> uniform(test::Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit() * 2 - 1);
  return values;
}

inline std::vector<float> integers(test::Random& random, std::size_t count, std::uint64_t below) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(below));
  return values;
}

class CudaVectorCase : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  static std::vector<VectorNeighbor> lists_of(VectorSearcher& searcher, const Case& c) {
    VectorSearch search;
    search.queries = c.queries_view();
    search.k = c.k;
    search.first_self = c.first_self;
    std::vector<VectorNeighbor> lists(std::size_t{search.queries.rows()} * c.k, {-1, 12345});
    searcher.search(search, lists);
    return lists;
  }

  /// Compares bits of up to `checked` queries, spread over all.
  static void expect_exact(const Case& c, std::uint64_t memory_bytes_max = ~std::uint64_t{0},
                           std::uint32_t checked = 40, bool may_filter = false) {
    VectorSearcherOptions options;
    options.may_filter = may_filter;
    options.memory_bytes_max = memory_bytes_max;
    const auto searcher = make_vector_searcher(options);
    ASSERT_EQ(searcher->name(), "cuda");
    searcher->set_corpus(c.metric, c.rows_view());
    const auto lists = lists_of(*searcher, c);
    const std::uint32_t count = c.queries_view().rows();
    const std::uint32_t step = std::max(count / checked, 1u);
    for (std::uint32_t query = 0; query < count; query += step) {
      const auto expected = expected_list(c, query);
      for (std::uint32_t rank = 0; rank < c.k; ++rank) {
        const VectorNeighbor& found = lists[std::size_t{query} * c.k + rank];
        ASSERT_TRUE(found == expected[rank] &&
                    std::signbit(found.score) == std::signbit(expected[rank].score))
            << "query " << query << " of " << count << ", rank " << rank << ": row " << found.row
            << " at " << found.score << ", not " << expected[rank].row << " at "
            << expected[rank].score << "; rows " << c.rows_view().rows() << ", dimension "
            << c.dimension << ", k " << c.k;
      }
    }
  }
};

}  // namespace starling::gpu
