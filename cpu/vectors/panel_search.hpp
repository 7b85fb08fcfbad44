// SPDX-License-Identifier: Apache-2.0
// Searches panels and divides the search among threads. With many queries, each thread scans all
// panels for its own blocks of queries. With few queries, all threads search for the same queries:
// each thread scans some parts of the panels, and then the candidates of all threads are merged.
// Both ways give the same result, because the order of (score, row) is total. CpuVectorSearcher and
// CpuVectorStore own a PanelSearch each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "starling/cpu/vectors/nearest_rows.hpp"
#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rows_within.hpp"
#include "starling/cpu/vectors/scan.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/store.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

struct PanelQuestion {
  Metric metric = Metric::l2;
  const VectorPanels& corpus;
  VectorsView queries;
  std::uint32_t k = 1;
  /// Called before the `count` queries from `first` on are searched. Sets in `nearest` which rows
  /// each of these queries skips. Query `first` + i of the question is query i of `nearest`. If
  /// `choose` is empty, no query skips a row.
  std::function<void(NearestRows& nearest, std::uint32_t first, std::uint32_t count)> choose{};
  /// Called now and then with the number of finished queries, on the thread that called nearest.
  std::function<void(std::uint64_t)> on_progress{};
};

class PanelSearch {
 public:
  /// Memory for each thread: a copy of at most 128 queries and, for each of these queries, at most
  /// 2 k + 144 keys of 8 bytes. Memory for all threads together: one more copy of 128 queries.
  explicit PanelSearch(ThreadPool& pool) : pool_(pool), scratch_(pool.threads()) {}

  /// Writes k entries for each query into `lists`, as VectorSearcher::search does.
  void nearest(const PanelQuestion& question, std::span<VectorNeighbor> lists);

  /// Appends to `matches` all rows of `corpus` within the bounds of the queries in `asked`. Row i
  /// of `queries` has the components of asked[i]. `all` is the mask for queries without a mask.
  void within(Metric metric, const VectorPanels& corpus, VectorsView queries,
              std::span<const VectorQuery> asked, const VectorMasks& masks,
              const std::uint64_t* all, std::vector<VectorMatch>& matches);

 private:
  struct Scratch {
    QueryTiles tiles;
    NearestRows nearest;
    NearestRows merged;  ///< the candidates of all threads for one query
    RowsWithin within;
  };
  static PanelParts parts_of(const VectorPanels& corpus);
  static void scan_part(const PanelQuestion& question, PanelRange panels, const QueryTiles& tiles,
                        NearestRows& nearest);
  static void start(const PanelQuestion& question, std::uint32_t first, std::uint32_t count,
                    NearestRows& nearest);
  void search_blocks(const PanelQuestion& question, const QueryBlocks& blocks,
                     std::span<VectorNeighbor> lists);
  void search_parts(const PanelQuestion& question, std::span<VectorNeighbor> lists);

  ThreadPool& pool_;
  std::vector<Scratch> scratch_;  ///< [thread]
  QueryTiles tiles_;              ///< read by all threads
};

}  // namespace starling::cpu
