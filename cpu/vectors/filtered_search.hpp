// SPDX-License-Identifier: Apache-2.0
// Finds the k nearest rows by their shadows first and computes the scores of the few rows that
// remain: the same lists as PanelSearch in about half the time, or less, if rows have many
// components. CpuVectorSearcher owns one and asks PanelSearch for the queries that this search
// leaves over. docs/decisions/0012-integer-filter.md has the reasons.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "starling/cpu/vectors/candidate_rows.hpp"
#include "starling/cpu/vectors/score_interval.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/cpu/vectors/shadows.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

class FilteredSearch {
 public:
  explicit FilteredSearch(ThreadPool& pool) : pool_(pool), scratch_(pool.threads()) {}

  /// Makes shadows of a corpus: 2 bytes for each component and 24 for each row. The rows of
  /// `corpus` must live as long as it is searched.
  void set_corpus(Metric metric, VectorsView corpus);
  void clear();

  /// Writes the lists of all queries except some, and returns the numbers of these in ascending
  /// order. They have too many rows near their k-th neighbour for the shadows to tell apart.
  /// VectorSearch::on_progress counts the written lists only.
  ///
  /// Memory for each thread: the shadows of at most 128 queries and, for each query, at most 3 k +
  /// 608 keys of 8 bytes; twice the keys if there are few queries.
  std::vector<std::uint32_t> search(const VectorSearch& search, std::span<VectorNeighbor> lists);

 private:
  struct Scratch {
    ShadowTiles tiles;
    CandidateRows candidates;
    CandidateRows merged;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint32_t> left_over;
  };

  void search_blocks(const VectorSearch& search, const QueryBlocks& blocks,
                     std::span<VectorNeighbor> lists);
  void search_parts(const VectorSearch& search, std::span<VectorNeighbor> lists);
  void start(const VectorSearch& search, std::uint32_t first, const ShadowTiles& tiles,
             CandidateRows& candidates) const;
  void scan(PanelRange panels, const ShadowTiles& tiles, CandidateRows& candidates) const;
  /// Writes the list of query `i` of the candidates, which is query `number` of the search.
  void finish(const VectorSearch& search, std::uint32_t number, CandidateRows& candidates,
              std::size_t i, Scratch& scratch, std::span<VectorNeighbor> lists) const;

  ThreadPool& pool_;
  std::vector<Scratch> scratch_;  ///< by thread
  ShadowTiles tiles_;             ///< read by all threads
  VectorsView corpus_;
  Metric metric_ = Metric::l2;
  ScoreInterval interval_{Metric::l2, 1};
  ShadowMaker maker_;
  ShadowPanels panels_;
};

}  // namespace starling::cpu
