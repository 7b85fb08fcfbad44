// SPDX-License-Identifier: Apache-2.0
// Draws corpora and queries, and compares lists: see trial.hpp.
#include "tests/vectors/trial.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/vector_oracle.hpp"

namespace starling::test {
namespace {

bool same_bits(const VectorNeighbor& a, const VectorNeighbor& b) {
  return a.row == b.row &&
         std::bit_cast<std::uint32_t>(a.score) == std::bit_cast<std::uint32_t>(b.score);
}

void prepare(Metric metric, std::uint32_t dimension, std::vector<float>& rows) {
  const auto fault = prepare_vectors(metric, {rows, dimension}, rows);
  ASSERT_FALSE(fault.has_value()) << "row " << fault->row << " " << sentence_of(fault->reason);
}

VectorSearch search_of(const Question& question, SearchMethod method) {
  VectorSearch search;
  search.queries = question.queries_view();
  search.k = question.k;
  search.first_self = question.first_self;
  search.method = method;
  return search;
}

// Every entry holds a value that no search finds. So an entry that the searcher does not write
// differs from the expected entry.
std::vector<VectorNeighbor> poisoned_lists(const Question& question) {
  return {std::size_t{question.queries_view().rows()} * question.k,
          VectorNeighbor{std::numeric_limits<float>::quiet_NaN(), no_row - 1}};
}

}  // namespace

std::string describe(const Trial& trial) {
  return std::string(name_of(trial.metric)) + ", " + std::string(to_string(trial.shape)) +
         ", rows " + std::to_string(trial.rows) + ", dimension " + std::to_string(trial.dimension) +
         ", queries " + std::to_string(trial.queries) + ", k " + std::to_string(trial.k) +
         (trial.is_graph ? ", a graph" : "");
}

// Draws corpus and queries together, so that they have clusters and duplicates in common.
Question draw_question(const Trial& trial, Random& random) {
  Question question;
  question.metric = trial.metric;
  question.dimension = trial.dimension;
  question.k = trial.k;
  const std::uint32_t drawn = trial.rows + (trial.is_graph ? 0 : trial.queries);
  std::vector<float> all = draw_rows(trial.shape, trial.metric, drawn, trial.dimension, random);
  prepare(trial.metric, trial.dimension, all);
  const auto row = [&](std::uint32_t number) {
    return all.begin() + static_cast<std::ptrdiff_t>(std::size_t{number} * trial.dimension);
  };
  question.corpus.assign(row(0), row(trial.rows));
  if (trial.is_graph) {
    const std::uint32_t count = std::min(trial.queries, trial.rows);
    question.first_self = (trial.rows - count) / 2;
    question.queries.assign(row(question.first_self), row(question.first_self + count));
  } else {
    question.queries.assign(row(trial.rows), all.end());
  }
  return question;
}

std::vector<VectorNeighbor> search_all(VectorSearcher& searcher, const Question& question,
                                       SearchMethod method) {
  std::vector<VectorNeighbor> lists = poisoned_lists(question);
  searcher.search(search_of(question, method), lists);
  return lists;
}

std::vector<VectorNeighbor> set_and_search_all(VectorSearcher& searcher, const Question& question,
                                               SearchMethod method) {
  std::vector<VectorNeighbor> lists = poisoned_lists(question);
  searcher.set_corpus_and_search(question.metric, question.corpus_view(),
                                 search_of(question, method), lists);
  return lists;
}

std::vector<VectorNeighbor> graph_in_tiles(VectorSearcher& searcher, const Question& question,
                                           std::uint32_t tile_rows_max, SearchMethod method) {
  const auto caller = std::this_thread::get_id();
  const std::uint32_t rows = question.corpus_view().rows();
  GraphSearch graph{question.corpus_view(), question.k, method, tile_rows_max, {}};
  std::uint64_t last_done = 0;
  graph.on_progress = [&](std::uint64_t done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_TRUE(done >= last_done && done <= rows) << done << " after " << last_done;
    last_done = done;
  };
  std::vector<VectorNeighbor> joined;
  searcher.search_graph(graph, [&](VectorRow first, std::span<const VectorNeighbor> lists) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(std::size_t{first} * question.k, joined.size());
    EXPECT_EQ(lists.size() % question.k, 0u);
    EXPECT_TRUE(!lists.empty() && lists.size() / question.k <= tile_rows_max);
    joined.insert(joined.end(), lists.begin(), lists.end());
  });
  EXPECT_EQ(last_done, rows);
  return joined;
}

std::vector<SearchMethod> supported_methods(const VectorSearcher& searcher) {
  std::vector<SearchMethod> methods;
  for (const SearchMethod method :
       {SearchMethod::automatic, SearchMethod::kato, SearchMethod::cuknn, SearchMethod::iterative,
        SearchMethod::insertion, SearchMethod::threshold, SearchMethod::multiselect,
        SearchMethod::sbq})
    if (searcher.supports(method)) methods.push_back(method);
  return methods;
}

void expect_same_lists(std::span<const VectorNeighbor> lists,
                       std::span<const VectorNeighbor> expected, std::uint32_t k) {
  ASSERT_EQ(lists.size(), expected.size());
  const auto [differs, instead] =
      std::mismatch(lists.begin(), lists.end(), expected.begin(), same_bits);
  if (differs == lists.end()) return;
  const auto entry = static_cast<std::size_t>(differs - lists.begin());
  ADD_FAILURE() << "query " << entry / k << ", entry " << entry % k << ": row " << differs->row
                << " at " << differs->score << ", which should be row " << instead->row << " at "
                << instead->score;
}

void expect_exact(VectorSearcher& searcher, const Trial& trial, std::uint64_t seed) {
  Random random(seed);
  const Question question = draw_question(trial, random);
  searcher.set_corpus(question.metric, question.corpus_view());
  const std::vector<VectorNeighbor> expected =
      vector_oracle(question.metric, question.corpus_view(), question.queries_view(), question.k,
                    question.first_self);
  for (const SearchMethod method : supported_methods(searcher)) {
    SCOPED_TRACE(describe(trial) + ", method " + std::to_string(static_cast<int>(method)) + ", " +
                 replay_hint(seed));
    expect_same_lists(search_all(searcher, question, method), expected, trial.k);
    expect_same_lists(set_and_search_all(searcher, question, method), expected, trial.k);
    searcher.borrow_corpus(question.metric, question.corpus_view());
    expect_same_lists(search_all(searcher, question, method), expected, trial.k);
  }
}

}  // namespace starling::test
