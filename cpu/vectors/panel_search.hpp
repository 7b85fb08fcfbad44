// How a search among panels is shared by threads. Many queries: each thread takes a block of them
// through all panels. Few: all threads take parts of the panels, whichever is next, for the same
// queries, and what they have met is merged. The order of (score, row) is total, so neither shows.
// The searcher of batches and the store of ticks own one each.
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
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/store.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

struct PanelQuestion {
  Metric metric = Metric::l2;
  const VectorPanels& corpus;
  VectorsView queries;
  std::uint32_t k = 1;
  /// Called with so many queries, from `first` on, before they are searched for: what they pass
  /// over, by NearestRows.
  std::function<void(NearestRows& nearest, std::uint32_t first, std::uint32_t count)> choose{};
  /// Told how many queries are done, from the calling thread, now and then.
  std::function<void(std::uint64_t)> on_progress{};
};

class PanelSearch {
 public:
  /// Memory: per thread a copy of 128 queries at most, with 2 k + 200 keys of 8 bytes each, and a
  /// copy of 128 queries for all threads.
  explicit PanelSearch(ThreadPool& pool) : pool_(pool), scratch_(pool.threads()) {}

  /// k entries a query, as VectorSearcher::search has them.
  void nearest(const PanelQuestion& question, std::span<VectorNeighbor> lists);

  /// Appends all matches of `asked`, whose components are those of `queries`. `all` is the mask of
  /// queries without one.
  void within(Metric metric, const VectorPanels& corpus, VectorsView queries,
              std::span<const VectorQuery> asked, const VectorMasks& masks,
              const std::uint64_t* all, std::vector<VectorMatch>& matches);

 private:
  struct Scratch {
    QueryTiles tiles;
    NearestRows nearest;
    NearestRows merged;  ///< one query's, of all threads
    RowsWithin within;
  };
  struct Parts {
    std::size_t panels = 0;
    std::size_t panels_each = 1;

    std::size_t count() const { return (panels + panels_each - 1) / panels_each; }
    PanelRange of(std::size_t part) const;
  };

  static Parts parts_of(const VectorPanels& corpus);
  std::uint32_t block_queries(std::uint32_t queries) const;
  static void scan_part(const PanelQuestion& question, PanelRange panels, const QueryTiles& tiles,
                        NearestRows& nearest);
  static void start(const PanelQuestion& question, std::uint32_t first, std::uint32_t count,
                    NearestRows& nearest);
  void search_blocks(const PanelQuestion& question, std::uint32_t block, std::size_t blocks,
                     std::span<VectorNeighbor> lists);
  void search_parts(const PanelQuestion& question, std::span<VectorNeighbor> lists);

  ThreadPool& pool_;
  std::vector<Scratch> scratch_;  ///< by thread
  QueryTiles tiles_;              ///< that all threads read
};

}  // namespace starling::cpu
