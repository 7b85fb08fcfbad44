// SPDX-License-Identifier: Apache-2.0
// Tests searches that are split over several devices. One device may be named several times.
#include <algorithm>
#include <string>
#include <vector>

#include "starling/gpu/backend.hpp"
#include "starling/gpu/device/launch_trace.hpp"
#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

/// Returns the options of at least `count` shares, and of at least one share for each device. If
/// there are fewer devices than shares, devices are named several times.
std::vector<VectorSearcherOptions> shares(std::size_t count,
                                          std::uint64_t memory_bytes_max = ~std::uint64_t{0}) {
  std::string why_none;
  const std::vector<DeviceInfo> devices = find_devices(why_none);
  std::vector<VectorSearcherOptions> options(std::max(count, devices.size()));
  for (std::size_t i = 0; i < options.size(); ++i) {
    options[i].device = devices[i % devices.size()].number;
    options[i].memory_bytes_max = memory_bytes_max;
  }
  return options;
}

std::size_t count_of(const LaunchTrace& trace, const char* name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      trace.kernels(),
      [&](const std::string& kernel) { return kernel.find(name) != std::string::npos; }));
}

using SplitVectors = CudaVectorCase;

TEST_F(SplitVectors, TheGraphByKatoIsSharedOutByGridsAndMerged) {
  test::Random random(1);
  for (const std::size_t count : {2u, 3u, 4u}) {
    const auto searcher = make_vector_searcher(shares(count));
    for (const std::uint32_t rows : {1u, 2u, 65u, 600u, 3000u, 17'001u})
      for (const std::uint32_t k : {1u, 16u, 300u}) {
        Case c;
        c.dimension = 9;
        c.k = k;
        c.metric = metric_of(k == 16);
        c.rows = rows % 2 == 0 ? integers(random, std::size_t{rows} * 9, 2)
                               : uniform(random, std::size_t{rows} * 9);
        c.queries = c.rows;
        c.first_self = 0;
        searcher->set_corpus(c.metric, c.rows_view());
        const LaunchTrace trace;
        expect_lists(c, lists_of(*searcher, c, SearchMethod::kato), 12);
        if (HasFatalFailure()) return;
        // Devices merge lists only if each device has grids. This needs enough rows.
        EXPECT_GE(count_of(trace, "kato_finish_kernel"), 1u);
        EXPECT_TRUE(rows < 65 || count_of(trace, "matrix_merge_kernel") > 0);
        EXPECT_GT(searcher->device_ms(), 0);
      }
  }
}

TEST_F(SplitVectors, TheListsOfAGraphByKatoAreMergedTileByTile) {
  test::Random random(7);
  Case c;
  c.dimension = 9;
  c.k = 200;
  c.rows = uniform(random, std::size_t{17'001} * 9);
  c.queries = c.rows;
  c.first_self = 0;
  // With 100 MiB, not all lists of a device fit beside its heaps.
  for (const std::uint64_t bytes_max : {~std::uint64_t{0}, 100 * mebibyte})
    for (const std::size_t count : {2u, 3u}) {
      const auto searcher = make_vector_searcher(shares(count, bytes_max));
      searcher->set_corpus(c.metric, c.rows_view());
      for (const std::uint32_t tile_rows : {1u << 20, 4001u}) {
        const LaunchTrace trace;
        const auto lists = graph_of(*searcher, c, tile_rows, SearchMethod::kato);
        expect_lists(c, lists, 12);
        if (HasFatalFailure()) return;
        // This thread launches the kernels of the first share and all merges.
        const std::size_t tiles = count_of(trace, "kato_finish_kernel");
        EXPECT_GE(tiles, tile_rows == 4001 ? 5u : bytes_max == 100 * mebibyte ? 2u : 1u);
        EXPECT_GE(count_of(trace, "matrix_merge_kernel"), tiles);
        EXPECT_GT(searcher->device_ms(), 0);
        EXPECT_EQ(lists, lists_of(*searcher, c, SearchMethod::kato));
      }
    }
}

TEST_F(SplitVectors, WhatIsNoWholeGraphIsAnsweredInSharesOfQueries) {
  test::Random random(2);
  Case c;
  c.dimension = 5;
  c.k = 10;
  c.rows = uniform(random, std::size_t{900} * 5);
  c.queries = c.rows;
  const auto searcher = make_vector_searcher(shares(3));
  searcher->set_corpus(c.metric, c.rows_view());
  for (const VectorRow first_self : {VectorRow{0}, VectorRow{1}, no_row}) {
    c.first_self = first_self;
    c.queries.assign(c.rows.begin(), c.rows.end() - (first_self == no_row ? 0 : 5));
    const LaunchTrace trace;
    if (first_self == 1) c.queries.assign(c.rows.begin() + 5, c.rows.end());
    expect_lists(c, lists_of(*searcher, c, SearchMethod::kato), 12);
    EXPECT_EQ(count_of(trace, "matrix_merge_kernel"), 0u);
  }
}

TEST_F(SplitVectors, RowsAreSharedOutWhereOneDeviceHasNoRoomForAll) {
  test::Random random(3);
  Case c;
  c.dimension = 100;
  c.k = 20;
  c.rows = uniform(random, std::size_t{300'000} * c.dimension);  // 120 MB of rows
  c.queries.assign(c.rows.begin() + 150'000 * 100, c.rows.begin() + 150'500 * 100);
  c.first_self = 150'000;
  // With 400 MiB, a device has room for the whole corpus; with 100 MiB, for its share of the
  // corpus; with 40 MiB, only for a part of its share.
  for (const std::uint64_t bytes_max : {400 * mebibyte, 100 * mebibyte, 40 * mebibyte}) {
    const auto searcher = make_vector_searcher(shares(4, bytes_max));
    searcher->set_corpus(c.metric, c.rows_view());
    const LaunchTrace trace;
    expect_lists(c, lists_of(*searcher, c), 5);
    EXPECT_EQ(count_of(trace, "matrix_merge_kernel") > 0, bytes_max < 400 * mebibyte);
    EXPECT_GT(searcher->device_ms(), 0);
  }
}

TEST_F(SplitVectors, FewQueriesAreSharedOutByRowsThoughEachDeviceHasAll) {
  test::Random random(7);
  Case c;
  c.dimension = 96;
  c.k = 40;
  c.rows = integers(random, std::size_t{200'001} * c.dimension, 3);  // many ties
  c.first_self = 133'000;
  for (const std::uint32_t count : {1u, 20u, 128u, 129u}) {
    c.queries.assign(c.rows.begin() + 133'000 * 96, c.rows.begin() + (133'000 + count) * 96);
    for (const FilterUse use : {FilterUse::never, FilterUse::always}) {
      std::vector<VectorSearcherOptions> devices = shares(3);
      for (VectorSearcherOptions& device : devices) device.filter.use = use;
      const auto searcher = make_vector_searcher(devices);
      searcher->set_corpus(c.metric, c.rows_view());
      const LaunchTrace trace;
      expect_lists(c, lists_of(*searcher, c), 10);
      if (HasFatalFailure()) return;
      if (count <= 32 && use == FilterUse::always) {
        EXPECT_GT(count_of(trace, "few_filter"), 0u);
      }
      // If a single query were divided among the devices, only one of them would search.
      if (count == 1 && use == FilterUse::never) {
        EXPECT_EQ(count_of(trace, "vector_finish_kernel"), devices.size());
      }
    }
  }
}

TEST_F(SplitVectors, SharesGoByTheFilterToo) {
  test::Random random(4);
  Case c;
  c.dimension = 64;
  c.k = 30;
  c.rows = normal(random, std::size_t{60'000} * c.dimension, 1);
  c.queries.assign(c.rows.begin() + 20'000 * 64, c.rows.begin() + 21'000 * 64);
  c.first_self = 20'000;
  std::vector<VectorSearcherOptions> devices = shares(3);
  for (VectorSearcherOptions& device : devices) device.filter.use = FilterUse::where_faster;
  const auto searcher = make_vector_searcher(devices, {.placement = RowPlacement::shares});
  searcher->set_corpus(c.metric, c.rows_view());
  expect_lists(c, lists_of(*searcher, c), 40);
}

TEST_F(SplitVectors, QueriesGoInPiecesWhereListsFindNoRoom) {
  test::Random random(5);
  Case c;
  c.dimension = 3;
  c.k = 2048;
  c.rows = integers(random, std::size_t{50'000} * c.dimension, 40);
  c.queries = integers(random, std::size_t{1500} * c.dimension, 40);  // 25 MB of lists
  const auto searcher =
      make_vector_searcher(shares(3, 40 * mebibyte), {.placement = RowPlacement::shares});
  searcher->set_corpus(c.metric, c.rows_view());
  expect_lists(c, lists_of(*searcher, c), 10);
  expect_lists(c, lists_of(*searcher, c, SearchMethod::multiselect), 10);
}

TEST_F(SplitVectors, ASearchThatFailedDoesNotSpoilTheNext) {
  test::Random random(6);
  Case c;
  c.dimension = 2;
  c.k = 3;
  c.rows = uniform(random, std::size_t{500} * 2);
  c.queries = c.rows;
  c.first_self = 0;
  const auto searcher = make_vector_searcher(shares(2), {.placement = RowPlacement::shares});
  searcher->set_corpus(c.metric, c.rows_view());
  EXPECT_THROW(static_cast<void>(lists_of(*searcher, c, static_cast<SearchMethod>(200))),
               std::invalid_argument);
  expect_lists(c, lists_of(*searcher, c), 20);
}

}  // namespace
}  // namespace starling::gpu
