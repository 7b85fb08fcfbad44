// SPDX-License-Identifier: Apache-2.0
// Finds the k nearest rows in two steps. Shadows first discard most rows; then the scores of the
// few remaining rows are computed. The lists are the same as those of PanelSearch. If rows have
// many components, FilteredSearch is faster. CpuVectorSearcher owns a FilteredSearch and passes the
// queries that it leaves over to PanelSearch. docs/decisions/0012-integer-filter.md has the
// reasons.
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
#include "starling/knn/vectors/corpus_rows.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

class FilteredSearch {
 public:
  explicit FilteredSearch(ThreadPool& pool) : pool_(pool), scratch_(pool.threads()) {}

  /// Makes the shadows of a corpus. They take 2 bytes for each component and 24 bytes for each row.
  /// `corpus` and its components must live as long as this corpus is searched.
  void set_corpus(Metric metric, const CorpusRows& corpus);
  void clear();

  /// Writes the lists of all queries, except the queries left over for PanelSearch. Returns the
  /// numbers of the queries left over, in ascending order. A query is left over if its buffer was
  /// full of rows near its k-th neighbour that the shadows cannot order, or if most other queries
  /// are left over. VectorSearch::on_progress counts only the written lists.
  ///
  /// Memory for each thread: the shadows of at most 128 queries and, for each of these queries, at
  /// most 3 k + 608 keys of 8 bytes. If there are few queries, there are twice as many keys. If the
  /// corpus has raw rows, also 8 prepared rows.
  std::vector<std::uint32_t> search(const VectorSearch& search, std::span<VectorNeighbor> lists);

 private:
  struct Scratch {
    ShadowTiles tiles;
    CandidateRows candidates;
    CandidateRows merged;
    std::vector<std::uint64_t> keys;
    std::vector<float> rows;
    std::vector<std::uint32_t> left_over;
  };

  void search_blocks(const VectorSearch& search, const QueryBlocks& blocks,
                     std::span<VectorNeighbor> lists);
  void search_parts(const VectorSearch& search, std::span<VectorNeighbor> lists);
  void start(const VectorSearch& search, std::uint32_t first, const ShadowTiles& tiles,
             CandidateRows& candidates) const;
  void scan(PanelRange panels, const ShadowTiles& tiles, CandidateRows& candidates) const;
  /// Finishes query `number` of the search, which is query `i` of `candidates`: writes its list, or
  /// adds `number` to scratch.left_over if the query has failed.
  void finish(const VectorSearch& search, std::uint32_t number, CandidateRows& candidates,
              std::size_t i, Scratch& scratch, std::span<VectorNeighbor> lists) const;

  ThreadPool& pool_;
  std::vector<Scratch> scratch_;  ///< [thread]
  ShadowTiles tiles_;             ///< read by all threads
  const CorpusRows* corpus_ = nullptr;
  Metric metric_ = Metric::l2;
  ScoreInterval interval_{Metric::l2, 1};
  ShadowMaker maker_;
  ShadowPanels panels_;
};

}  // namespace starling::cpu
