// SPDX-License-Identifier: Apache-2.0
// Tests searches whose queries pass through the device in pieces: the order of the steps, the
// lists, and what is left after an error.
#include "starling/gpu/vectors/search_pipeline.hpp"

#include <bit>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gpu/vectors/vector_case.hpp"

namespace starling::gpu {
namespace {

using CudaPieces = CudaVectorCase;

/// Ends a run of the pipeline.
struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stop") {}
};

/// Returns steps that only write to `log`: a letter for the step, and the number of its piece.
PieceSteps logged_steps(std::string& log, std::uint32_t piece_max) {
  const auto note = [&log, piece_max](char step, Piece piece) {
    log += step;
    log += std::to_string(piece.begin / piece_max) + " ";
  };
  PieceSteps steps;
  steps.bring = [=](Piece piece, float*, const CudaStream&) { note('b', piece); };
  steps.search = [=](Piece piece, const float*, VectorNeighbor*) { note('s', piece); };
  steps.fetch = [=](Piece piece, const VectorNeighbor*, const CudaStream&) { note('f', piece); };
  steps.done = [=](Piece piece) { note('d', piece); };
  return steps;
}

std::string order_of(std::uint32_t count, std::uint32_t piece_max) {
  std::string log;
  DeviceMemory memory(~std::uint64_t{0});
  SearchPipeline pipeline(memory);
  const CudaStream stream;
  pipeline.run(count, piece_max, stream, logged_steps(log, piece_max));
  return log;
}

TEST_F(CudaPieces, APieceIsSearchedBeforeTheListsOfTheOneBeforeAreFetched) {
  EXPECT_EQ(order_of(0, 4), "");
  EXPECT_EQ(order_of(4, 4), "b0 s0 f0 d0 ");
  EXPECT_EQ(order_of(8, 4), "b0 s0 b1 s1 f0 d0 f1 d1 ");
  EXPECT_EQ(order_of(9, 4), "b0 s0 b1 s1 f0 d0 b2 s2 f1 d1 f2 d2 ");
}

/// The search of each piece copies its queries to its lists, as if query i had found row i.
TEST_F(CudaPieces, ASlotIsNotFilledBeforeItsListsAreFetched) {
  constexpr std::uint32_t count = 1'000'003;
  constexpr std::uint32_t piece_max = 1 << 14;
  static_assert(sizeof(VectorNeighbor) == 2 * sizeof(float));
  std::vector<float> queries(2 * std::size_t{count});
  for (std::uint32_t i = 0; i < count; ++i) queries[2 * i + 1] = std::bit_cast<float>(i);
  std::pmr::vector<VectorNeighbor> lists(count, {-1, 12345}, &pinned_memory());
  DeviceMemory memory(~std::uint64_t{0});
  SearchPipeline pipeline(memory);
  pipeline.make_room(2 * piece_max, piece_max, 2);
  const CudaStream stream;
  std::uint32_t fetched = 0;
  PieceSteps steps;
  steps.bring = [&](Piece piece, float* to, const CudaStream& copies) {
    copy_to_device_async(
        std::span<const float>(queries).subspan(2 * std::size_t{piece.begin}, 2 * piece.count), to,
        copies);
  };
  steps.search = [&](Piece piece, const float* from, VectorNeighbor* to) {
    check(cudaMemcpyAsync(to, from, piece.count * sizeof(VectorNeighbor), cudaMemcpyDeviceToDevice,
                          stream.get()));
  };
  steps.fetch = [&](Piece piece, const VectorNeighbor* from, const CudaStream& copies) {
    copy_to_host_async(from, std::span(lists).subspan(piece.begin, piece.count), copies);
  };
  steps.done = [&](Piece piece) {
    EXPECT_EQ(piece.begin, fetched);
    fetched += piece.count;
    ASSERT_EQ(lists[fetched - 1].row, fetched - 1);
  };
  pipeline.run(count, piece_max, stream, steps);
  ASSERT_EQ(fetched, count);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(lists[i].row, i);
}

TEST_F(CudaPieces, ListsOfASearchInPiecesAreExact) {
  test::Random random(21);
  for (const bool is_graph : {false, true})
    for (const FilterUse filter : {FilterUse::never, FilterUse::where_faster}) {
      Case c;
      c.dimension = 24;
      c.k = 90;
      c.rows = uniform(random, std::size_t{30'000} * c.dimension);
      c.queries = is_graph ? c.rows : uniform(random, std::size_t{20'000} * c.dimension);
      if (is_graph) c.first_self = 0;
      VectorSearcherOptions options;
      options.filter = {filter};
      options.memory_bytes_max = std::uint64_t{128} << 20;
      const auto searcher = make_vector_searcher(options);
      searcher->set_corpus(c.metric, c.rows_view());
      std::vector<std::uint64_t> reports;
      VectorSearch search{c.queries_view(), c.k, c.first_self, SearchMethod::automatic,
                          [&](std::uint64_t done) { reports.push_back(done); }};
      std::vector<VectorNeighbor> lists(std::size_t{search.queries.rows()} * c.k, {-1, 12345});
      searcher->search(search, lists);
      expect_lists(c, lists, 60);
      EXPECT_GT(reports.size(), 2U) << "the search should take several pieces";
      EXPECT_TRUE(std::ranges::is_sorted(reports));
      EXPECT_EQ(reports.back(), search.queries.rows());
    }
}

TEST_F(CudaPieces, AfterAnErrorTheSearcherAnswers) {
  test::Random random(22);
  Case c;
  c.dimension = 8;
  c.k = 20;
  c.rows = uniform(random, std::size_t{40'000} * c.dimension);
  c.queries = c.rows;
  c.first_self = 0;
  const auto searcher = make_vector_searcher(0);
  searcher->set_corpus(c.metric, c.rows_view());
  const GraphSearch graph{c.rows_view(), c.k, SearchMethod::automatic, 1000, {}};
  for (int stop = 1; stop <= 3; ++stop) {
    int tiles = 0;
    EXPECT_THROW(searcher->search_graph(graph,
                                        [&](VectorRow, std::span<const VectorNeighbor>) {
                                          if (++tiles == stop) throw Stop();
                                        }),
                 Stop);
  }
  expect_lists(c, graph_of(*searcher, c, 777, SearchMethod::automatic), 30);
  expect_lists(c, lists_of(*searcher, c), 30);
}

}  // namespace
}  // namespace starling::gpu
