// SPDX-License-Identifier: Apache-2.0
// Tests what is special to the CPU searcher: threads, instruction sets, its one method, progress,
// and lack of memory. tests/vectors compares its lists with the oracle.
#include "starling/cpu/vectors/searcher.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/cpu/backend.hpp"
#include "tests/support/failing_new.hpp"
#include "tests/support/vector_oracle.hpp"
#include "tests/vectors/trial.hpp"

namespace starling::test {
namespace {

// While an object of this class lives, all SIMD code uses the instruction set `target`.
class OnTarget {
 public:
  explicit OnTarget(std::string_view target) { cpu::use_simd_target(target); }
  ~OnTarget() { cpu::use_simd_target("best"); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;
};

TEST(CpuVectorSearcher, GivesTheSameBitsOnEveryInstructionSet) {
  const std::vector<std::string_view> targets = cpu::simd_targets();
  if (targets.size() < 2) GTEST_SKIP() << "this build has code for one instruction set";
  for (const std::string_view target : targets) {
    SCOPED_TRACE(target);
    const OnTarget on_target(target);
    const auto searcher = cpu::make_vector_searcher(2);
    for (const RowShape shape : row_shapes())
      for (const Metric metric : {Metric::l2, Metric::inner_product})
        for (const std::uint32_t dimension : {1u, 19u, 128u}) {
          expect_exact(*searcher, {.metric = metric,
                                   .shape = shape,
                                   .rows = 333,
                                   .dimension = dimension,
                                   .queries = 11,
                                   .k = 20});
          if (HasFailure()) return;
        }
  }
}

TEST(CpuVectorSearcher, GivesTheSameBitsOnEveryNumberOfThreads) {
  for (const unsigned threads : {0u, 1u, 2u, 5u, 16u}) {
    SCOPED_TRACE(threads);
    const auto searcher = cpu::make_vector_searcher(threads);
    for (const RowShape shape : {RowShape::uniform, RowShape::small_integers}) {
      // In the first search, which has few queries, each thread takes parts of the corpus. In the
      // second search, which has many queries, each thread takes blocks of queries.
      expect_exact(*searcher,
                   {.shape = shape, .rows = 250'000, .dimension = 3, .queries = 2, .k = 40});
      expect_exact(*searcher,
                   {.shape = shape, .rows = 2000, .dimension = 30, .queries = 150, .k = 200});
      if (HasFailure()) return;
    }
  }
}

// Searches raw rows of this shape, copied and borrowed, and compares with the oracle's lists of the
// prepared rows.
void expect_same_lists_of_raw_rows(VectorSearcher& searcher, RowShape shape, Metric metric,
                                   std::uint32_t dimension) {
  Random random(5);
  const std::vector<float> rows = draw_rows(shape, metric, 150, dimension, random);
  const VectorsView raw{rows, dimension};
  Question question{.metric = metric, .dimension = dimension, .k = 9, .first_self = 20};
  question.corpus.resize(rows.size());
  ASSERT_FALSE(prepare_vectors(metric, raw, question.corpus).has_value());
  const auto first = question.corpus.begin() + std::ptrdiff_t{20} * dimension;
  question.queries.assign(first, first + std::ptrdiff_t{31} * dimension);
  const auto expected = vector_oracle(metric, question.corpus_view(), question.queries_view(),
                                      question.k, question.first_self);
  searcher.set_raw_corpus(metric, raw);
  expect_same_lists(search_all(searcher, question), expected, question.k);
  searcher.borrow_raw_corpus(metric, raw);
  expect_same_lists(search_all(searcher, question), expected, question.k);
}

TEST(CpuVectorSearcher, FindsTheSameListsInRawRows) {
  for (const cpu::RowFilter filter :
       {cpu::RowFilter::always, cpu::RowFilter::never, cpu::RowFilter::tree})
    for (const Metric metric : all_metrics)
      for (const RowShape shape : row_shapes())
        for (const std::uint32_t dimension : {1u, 3u, 37u}) {
          SCOPED_TRACE(std::string(name_of(metric)) + ", " + std::string(to_string(shape)) +
                       ", dimension " + std::to_string(dimension));
          const auto searcher = cpu::make_panel_searcher(2, filter);
          expect_same_lists_of_raw_rows(*searcher, shape, metric, dimension);
          if (HasFailure()) return;
        }
}

// Returns the lists of all rows, in the order of rows.
std::vector<VectorNeighbor> all_within(VectorSearcher& searcher, const Question& question) {
  std::vector<VectorNeighbor> all;
  searcher.search_radius({.queries = question.queries_view(),
                          .radius = 2,
                          .first_self = question.first_self,
                          .order = ListOrder::by_row},
                         [&](std::uint32_t, const RadiusLists& lists) {
                           all.insert(all.end(), lists.neighbors.begin(), lists.neighbors.end());
                         });
  return all;
}

// The shadows cannot tell these rows apart, and a borrowed corpus of more than 32 MiB gets no
// second copy in panels. So its panels are made and searched in strips.
TEST(CpuVectorSearcher, FindsTheSameListsInStrips) {
  constexpr std::uint32_t dimension = 128;
  constexpr std::uint32_t rows = 140'003;
  std::vector<float> corpus(std::size_t{rows} * dimension, 1.0f);
  for (std::uint32_t row = 0; row < rows; ++row)
    corpus[std::size_t{row} * dimension + row % dimension] =
        1 + 0x1p-23f * static_cast<float>(row % 5);
  Question question{.metric = Metric::cosine, .dimension = dimension, .k = 40};
  const VectorsView raw{corpus, dimension};
  const auto searcher = cpu::make_panel_searcher(2, cpu::RowFilter::always);
  for (const VectorRow first : {no_row, VectorRow{0}, VectorRow{65'530}, rows - 12}) {
    question.first_self = first;
    const std::size_t from = first == no_row ? 0 : first;
    std::vector<float> queries(std::size_t{12} * dimension);
    ASSERT_FALSE(prepare_vectors(
        question.metric, {std::span(corpus).subspan(from * dimension, queries.size()), dimension},
        queries));
    question.queries = queries;
    searcher->set_raw_corpus(question.metric, raw);
    const auto expected = search_all(*searcher, question);
    const auto rows_within = all_within(*searcher, question);
    searcher->borrow_raw_corpus(question.metric, raw);
    expect_same_lists(search_all(*searcher, question), expected, question.k);
    expect_same_lists(all_within(*searcher, question), rows_within, 1);
    EXPECT_EQ(rows_within.size(), std::size_t{12} * (rows - (first == no_row ? 0 : 1)));
  }
}

TEST(CpuVectorSearcher, SaysWhatToAskForWhereItLacksAMethod) {
  const auto searcher = cpu::make_vector_searcher(1);
  EXPECT_FALSE(searcher->supports(SearchMethod::kato));
  const std::vector<float> row{1, 2};
  searcher->set_corpus(Metric::l2, {row, 2});
  VectorSearch search;
  search.queries = {row, 2};
  search.method = SearchMethod::sbq;
  std::vector<VectorNeighbor> list(1);
  try {
    searcher->search(search, list);
    FAIL() << "an exception was expected";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("automatic"));
  }
}

TEST(CpuVectorSearcher, TellsProgressToTheEnd) {
  const auto searcher = cpu::make_vector_searcher(2);
  for (const std::uint32_t rows : {50u, 1'000'000u}) {
    const std::vector<float> corpus(std::size_t{rows} * 2);
    const std::vector<float> queries(std::size_t{300} * 2);
    searcher->set_corpus(Metric::l2, {corpus, 2});
    std::vector<VectorNeighbor> lists(300);
    VectorSearch search;
    search.queries = {queries, 2};
    std::uint64_t last = 0;
    search.on_progress = [&](std::uint64_t queries_done) { last = queries_done; };
    searcher->search(search, lists);
    EXPECT_EQ(last, 300u);
  }
}

TEST(CpuVectorSearcher, ThrowsWhereMemoryRunsOutAndSearchesLater) {
  Random random(1);
  const Question question =
      draw_question({.rows = 3000, .dimension = 4, .queries = 128, .k = vector_k_max}, random);
  const auto expected = [&] {
    const auto searcher = cpu::make_vector_searcher(1);
    searcher->set_corpus(question.metric, question.corpus_view());
    return search_all(*searcher, question);
  }();
  const auto searcher = cpu::make_vector_searcher(2);
  searcher->set_corpus(question.metric, question.corpus_view());
  VectorSearch search;
  search.queries = question.queries_view();
  search.k = question.k;
  std::vector<VectorNeighbor> lists(expected.size());
  {
    const FailingNew failing(std::size_t{1} << 18);
    EXPECT_THROW(searcher->search(search, lists), std::bad_alloc);
  }
  expect_same_lists(search_all(*searcher, question), expected, question.k);
}

}  // namespace
}  // namespace starling::test
