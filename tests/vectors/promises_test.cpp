// SPDX-License-Identifier: Apache-2.0
// Tests what VectorSearcher promises besides exact lists. For example, the lists do not depend on
// how a caller splits queries into batches.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/vectors/trial.hpp"
#include "tests/vectors/vectors.hpp"

namespace starling::test {
namespace {

Question ask(VectorSearcher& searcher, const Trial& trial) {
  Random random(1);
  Question question = draw_question(trial, random);
  searcher.set_corpus(question.metric, question.corpus_view());
  return question;
}

TEST_P(Vectors, SupportTheAutomaticMethod) {
  EXPECT_TRUE(searcher().supports(SearchMethod::automatic));
}

TEST_P(Vectors, RatesAreMeasuredBesideACorpus) {
  const std::vector<float> corpus{1, 2, 3};
  searcher().set_corpus(Metric::l2, {corpus, 1});
  const DeviceRates rates = searcher().rates();
  EXPECT_GT(rates.read_gb_per_s, 0);
  EXPECT_GT(rates.steps_per_s, 0);
  const std::vector<float> query{3};
  std::vector<VectorNeighbor> list(1);
  VectorSearch search;
  search.queries = {query, 1};
  searcher().search(search, list);
  EXPECT_EQ(list.front().row, 2u);
}

TEST_P(Vectors, SearchesThatDoNotFitTheCorpusAreRefusedByASentence) {
  const std::vector<float> rows{1, 2, 3, 4};
  std::vector<VectorNeighbor> lists(2);
  const auto refusal = [&](const VectorSearch& search, std::size_t entries) -> std::string {
    try {
      searcher().search(search, std::span(lists).first(entries));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({.queries = {rows, 2}}, 2), "") << "there is no corpus yet";
  searcher().set_corpus(Metric::l2, {rows, 2});
  using testing::HasSubstr;
  EXPECT_THAT(refusal({.queries = {rows, 2}, .k = 0}, 2), HasSubstr("k is 0; it must be 1 to"));
  EXPECT_THAT(refusal({.queries = {rows, 1}}, 2), HasSubstr("have 1 components, and the corpus"));
  EXPECT_THAT(refusal({.queries = {std::span(rows).first(3), 2}}, 1),
              HasSubstr("have 3 numbers, which are no whole rows of 2 components"));
  EXPECT_THAT(refusal({.queries = {rows, 2}}, 1), HasSubstr("`lists` has 1 entries"));
  EXPECT_THAT(refusal({.queries = {rows, 2}, .first_self = 1}, 2),
              HasSubstr("are the rows from 1 on, but the corpus has 2 rows"));
  EXPECT_EQ(refusal({.queries = {rows, 2}, .first_self = 0}, 2), "");
}

TEST_P(Vectors, TheListForKIsAPrefixOfTheListForKPlusOne) {
  for (const RowShape shape : {RowShape::uniform, RowShape::small_integers}) {
    Question question =
        ask(searcher(), {.shape = shape, .rows = 3000, .dimension = 4, .queries = 3, .k = 1});
    for (const SearchMethod method : supported_methods(searcher())) {
      question.k = vector_k_max;
      const std::vector<VectorNeighbor> longest = search_all(searcher(), question, method);
      for (std::uint32_t k = 1; k < vector_k_max; k += k < 40 || k >= 2040 ? 1 : 125) {
        question.k = k;
        const std::vector<VectorNeighbor> lists = search_all(searcher(), question, method);
        for (std::size_t query = 0; query < 3; ++query)
          expect_same_lists(std::span(lists).subspan(query * k, k),
                            std::span(longest).subspan(query * vector_k_max, k), k);
        ASSERT_FALSE(HasFailure()) << "k " << k;
      }
    }
  }
}

TEST_P(Vectors, HowQueriesAreSplitIntoBatchesDoesNotShow) {
  const Question whole = ask(searcher(), {.shape = RowShape::many_duplicates,
                                          .rows = 5000,
                                          .dimension = 40,
                                          .queries = 300,
                                          .k = 20,
                                          .is_graph = true});
  for (const SearchMethod method : supported_methods(searcher())) {
    const std::vector<VectorNeighbor> at_once = search_all(searcher(), whole, method);
    for (const std::uint32_t batch : {1u, 7u, 128u, 299u}) {
      std::vector<VectorNeighbor> joined;
      for (std::uint32_t first = 0; first < 300; first += batch) {
        const std::uint32_t count = std::min(batch, 300 - first);
        Question part{.dimension = whole.dimension, .k = whole.k};
        part.first_self = whole.first_self + first;
        const auto begin =
            whole.queries.begin() + static_cast<std::ptrdiff_t>(first * whole.dimension);
        part.queries.assign(begin, begin + static_cast<std::ptrdiff_t>(count * whole.dimension));
        const std::vector<VectorNeighbor> lists = search_all(searcher(), part, method);
        joined.insert(joined.end(), lists.begin(), lists.end());
      }
      expect_same_lists(joined, at_once, whole.k);
      ASSERT_FALSE(HasFailure()) << "batches of " << batch;
    }
  }
}

TEST_P(Vectors, ARowIsNotItsOwnNeighbourButItsDuplicatesAre) {
  const Question question = ask(searcher(), {.shape = RowShape::all_equal,
                                             .rows = 200,
                                             .dimension = 3,
                                             .queries = 200,
                                             .k = 5,
                                             .is_graph = true});
  const std::vector<VectorNeighbor> lists = search_all(searcher(), question);
  for (std::uint32_t query = 0; query < 200; ++query)
    for (std::uint32_t i = 0; i < 5; ++i)
      EXPECT_EQ(lists[query * 5 + i], (VectorNeighbor{0, i < query ? i : i + 1}));
}

TEST_P(Vectors, TheLastRowsMayAskAlone) {
  Question question =
      ask(searcher(), {.rows = 129, .dimension = 2, .queries = 129, .k = 129, .is_graph = true});
  const std::vector<VectorNeighbor> all = search_all(searcher(), question);
  question.first_self = 128;
  question.queries.erase(question.queries.begin(), question.queries.end() - 2);
  expect_same_lists(search_all(searcher(), question), std::span(all).last(129), 129);
}

TEST_P(Vectors, TheCorpusIsACopy) {
  Question question = ask(searcher(), {.rows = 500, .dimension = 8, .queries = 20, .k = 9});
  const std::vector<VectorNeighbor> before = search_all(searcher(), question);
  std::fill(question.corpus.begin(), question.corpus.end(), 0.0f);
  expect_same_lists(search_all(searcher(), question), before, question.k);
}

TEST_P(Vectors, AnotherCorpusTakesThePlaceOfTheFirst) {
  expect_exact(searcher(), {.rows = 3000, .dimension = 65, .queries = 20, .k = 128});
  expect_exact(searcher(), {.rows = 0, .dimension = 7, .queries = 20, .k = 3});
  expect_exact(
      searcher(),
      {.metric = Metric::inner_product, .rows = 77, .dimension = 2, .queries = 150, .k = 2});
  expect_exact(searcher(), {.rows = 100, .dimension = 128, .queries = 1, .k = 1});
}

TEST_P(Vectors, ScoresAreNeverBelowZeroByASignAlone) {
  Question question{.metric = Metric::inner_product, .dimension = 2, .k = 4};
  question.corpus = {0, 0, -0.0f, 0, 1, 0, 0x1p-100f, 0};
  question.queries = {0, 1, -0.0f, -1, 0, 0, -0x1p-100f, 0, 0x1p-100f, 0};
  searcher().set_corpus(question.metric, question.corpus_view());
  for (const SearchMethod method : supported_methods(searcher()))
    for (const VectorNeighbor& neighbor : search_all(searcher(), question, method))
      EXPECT_FALSE(neighbor.score == 0 && std::signbit(neighbor.score));
}

TEST_P(Vectors, ProgressIsToldFromTheCallingThreadAndNeverGoesBack) {
  const Question question = ask(searcher(), {.rows = 300, .dimension = 2, .queries = 5000, .k = 3});
  VectorSearch search;
  search.queries = question.queries_view();
  search.k = question.k;
  std::uint64_t last = 0;
  search.on_progress = [&, caller = std::this_thread::get_id()](std::uint64_t queries_done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_GE(queries_done, last);
    EXPECT_LE(queries_done, 5000u);
    last = queries_done;
  };
  std::vector<VectorNeighbor> lists(std::size_t{5000} * 3);
  searcher().search(search, lists);
  EXPECT_GT(last, 0u);
}

}  // namespace
}  // namespace starling::test
