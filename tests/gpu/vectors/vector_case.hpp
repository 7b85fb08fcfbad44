// SPDX-License-Identifier: Apache-2.0
// Searches on the device and compares the lists, bit for bit, with the lists of an oracle that
// sorts everything. All tests of gpu/vectors that search use these functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "starling/gpu/backend.hpp"
#include "starling/gpu/vectors/methods/method.hpp"
#include "tests/support/random.hpp"
#include "tests/support/vector_oracle.hpp"

namespace starling::gpu {

struct Case {
  Metric metric = Metric::l2;
  std::uint32_t dimension = 1;
  std::vector<float> rows;
  std::vector<float> queries;
  std::uint32_t k = 1;
  VectorRow first_self = no_row;
  VectorRow first_row = 0;                           ///< methods only: the first row's number
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  ///< methods only: the memory limit

  VectorsView rows_view() const { return {rows, dimension}; }
  VectorsView queries_view() const { return {queries, dimension}; }
};

inline Metric metric_of(bool is_dot) {
  return is_dot ? Metric::inner_product : Metric::l2;
}

inline std::vector<VectorNeighbor> expected_list(const Case& c, std::uint32_t query) {
  const VectorRow self = c.first_self == no_row ? no_row : c.first_self + query - c.first_row;
  auto list = test::vector_oracle(c.metric, c.rows_view(),
                                  {c.queries_view().row(query), c.dimension}, c.k, self);
  for (VectorNeighbor& neighbor : list)
    if (neighbor.row != no_row) neighbor.row += c.first_row;
  return list;
}

/// Compares the lists of about `checked` queries with the oracle's, bit for bit. These queries are
/// spread evenly over all queries. The last query is one of them.
inline void expect_lists(const Case& c, std::span<const VectorNeighbor> lists,
                         std::uint32_t checked) {
  const std::uint32_t count = c.queries_view().rows();
  const std::uint32_t step = std::max(count / checked, 1u);
  for (std::uint32_t query = 0; query < count; query += step) {
    // The last step checks the last query, because the tile of the last query may be incomplete.
    const std::uint32_t asked = query + step < count ? query : count - 1;
    const auto expected = expected_list(c, asked);
    for (std::uint32_t rank = 0; rank < c.k; ++rank) {
      const VectorNeighbor& found = lists[std::size_t{asked} * c.k + rank];
      ASSERT_TRUE(found == expected[rank] &&
                  std::signbit(found.score) == std::signbit(expected[rank].score))
          << "query " << asked << " of " << count << ", rank " << rank << ": row " << found.row
          << " at " << found.score << ", not " << expected[rank].row << " at "
          << expected[rank].score << "; rows " << c.rows_view().rows() << ", dimension "
          << c.dimension << ", k " << c.k << ", " << name_of(c.metric);
    }
  }
}

inline std::vector<float> uniform(test::Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit() * 2 - 1);
  return values;
}

inline std::vector<float> normal(test::Random& random, std::size_t count, double mean) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal() + mean);
  return values;
}

inline std::vector<float> integers(test::Random& random, std::size_t count, std::uint64_t below) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(below));
  return values;
}

/// Returns the lists that the searcher finds. Before the search every entry holds {-1, 12345},
/// which no search finds. So an entry that the searcher does not write differs from the oracle's
/// entry.
inline std::vector<VectorNeighbor> lists_of(VectorSearcher& searcher, const Case& c,
                                            SearchMethod method = SearchMethod::automatic) {
  VectorSearch search;
  search.queries = c.queries_view();
  search.k = c.k;
  search.first_self = c.first_self;
  search.method = method;
  std::vector<VectorNeighbor> lists(std::size_t{search.queries.rows()} * c.k, {-1, 12345});
  searcher.search(search, lists);
  return lists;
}

/// Returns the lists that search_graph finds in tiles of at most `tile_rows_max` rows. The queries
/// of the case are its rows.
inline std::vector<VectorNeighbor> graph_of(VectorSearcher& searcher, const Case& c,
                                            std::uint32_t tile_rows_max, SearchMethod method) {
  std::vector<VectorNeighbor> joined;
  searcher.search_graph({c.rows_view(), c.k, method, tile_rows_max, {}},
                        [&](VectorRow first, std::span<const VectorNeighbor> lists) {
                          EXPECT_EQ(joined.size(), std::size_t{first} * c.k);
                          EXPECT_LE(lists.size(), std::size_t{tile_rows_max} * c.k);
                          joined.insert(joined.end(), lists.begin(), lists.end());
                        });
  return joined;
}

using MakeMethod = std::unique_ptr<VectorMethod> (*)(DeviceMemory& memory, std::uint64_t bytes_max);

/// Returns the lists that a method finds without a searcher. Checks that the method takes at most
/// c.bytes_max of memory, or at most `bytes_least` if that is more.
inline std::vector<VectorNeighbor> lists_of(MakeMethod make, const Case& c,
                                            std::uint64_t bytes_least) {
  DeviceMemory memory(~std::uint64_t{0});
  const CudaStream stream;
  DeviceBuffer<float> rows(memory, std::max<std::size_t>(c.rows.size(), 1));
  DeviceBuffer<float> queries(memory, std::max<std::size_t>(c.queries.size(), 1));
  std::vector<VectorNeighbor> lists(std::size_t{c.queries_view().rows()} * c.k, {-1, 12345});
  DeviceBuffer<VectorNeighbor> found(memory, std::max<std::size_t>(lists.size(), 1));
  const std::uint64_t bytes_others = memory.bytes_used();
  const auto method = make(memory, c.bytes_max);
  const DrainAtEnd drain(stream);
  copy_to_device_async(std::span<const float>(c.rows), rows, stream);
  copy_to_device_async(std::span<const float>(c.queries), queries, stream);
  copy_to_device_async(std::span<const VectorNeighbor>(lists), found, stream);
  method->search_async(
      {rows.data(), c.rows_view().rows(), c.dimension, c.first_row, recipe_of(c.metric)},
      {queries.data(), c.queries_view().rows(), c.k, c.first_self, found.data()}, stream);
  copy_to_host_async(static_cast<const VectorNeighbor*>(found.data()),
                     std::span<VectorNeighbor>(lists), stream);
  stream.wait();
  EXPECT_LE(memory.bytes_used() - bytes_others, std::max(c.bytes_max, bytes_least));
  return lists;
}

class CudaVectorCase : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (find_devices(why_none).empty()) GTEST_SKIP() << why_none;
  }

  /// Searches with a new searcher and calls expect_lists on the result.
  static void expect_exact(const Case& c, std::uint64_t memory_bytes_max = ~std::uint64_t{0},
                           std::uint32_t checked = 40, FilterOptions filter = {FilterUse::never}) {
    VectorSearcherOptions options;
    options.filter = filter;
    options.memory_bytes_max = memory_bytes_max;
    const auto searcher = make_vector_searcher(options);
    ASSERT_EQ(searcher->name(), "cuda");
    searcher->set_corpus(c.metric, c.rows_view());
    expect_lists(c, lists_of(*searcher, c), checked);
  }
};

}  // namespace starling::gpu
