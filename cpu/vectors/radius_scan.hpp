// SPDX-License-Identifier: Apache-2.0
// Finds all rows within a radius of queries, some queries at a time, by a scan of panels or in a
// tree, and gathers the rows in lists. If the lists are long, it takes fewer queries at a time, so
// that its memory stays bounded. CpuVectorSearcher owns a RadiusScan.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/cpu/vectors/panels.hpp"
#include "starling/cpu/vectors/rows_within.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/cpu/vectors/tree/row_tree.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// Call start. Then, while next_queries returns true, call add_panels for each strip of the corpus
/// in the order of its rows, or call add_tree. Then call gather, unless is_too_long returns true.
class RadiusScan {
 public:
  explicit RadiusScan(ThreadPool& pool) : pool_(pool), scratch_(pool.threads()) {}

  /// `search` must live until the last gather.
  void start(Metric metric, const RadiusSearch& search);

  /// Begins with the next queries. If the lists were too long, begins again with fewer of the same
  /// queries. Returns false and frees the memory if no query is left.
  bool next_queries();
  std::uint32_t first_query() const { return first_; }

  /// Finds rows in panels whose first row has the number `first_row` in the corpus.
  void add_panels(const VectorPanels& panels, VectorRow first_row);
  void add_tree(const RowTree& tree);

  /// Returns whether the lists of the queries under way are too long. If so, rows are missing in
  /// them. Returns false for up to four queries, whatever the length.
  bool is_too_long() const;

  /// Returns the lists of the queries under way. Valid until the next call of next_queries or
  /// start.
  RadiusLists gather();

 private:
  /// The matches of one block of queries in one range of rows.
  struct Found {
    RowsWithin rows;
    VectorRow first_row = 0;
  };
  struct Scratch {
    QueryTiles tiles;
    std::vector<std::uint64_t> keys;
  };

  Found& found(std::size_t range, std::size_t block) {
    return found_[range * blocks_.count() + block];
  }
  /// Makes room for `count` more ranges of each block. Returns the number of the first one.
  std::size_t add_ranges(std::size_t count, VectorRow first_row);
  /// Calls act(query, row) for the matches of a block, except matches of a query with itself.
  template <class Act>
  void for_matches(std::size_t block, unsigned thread, const Act& act);
  void sort(std::span<VectorNeighbor> list, std::vector<std::uint64_t>& keys) const;

  ThreadPool& pool_;
  std::vector<Scratch> scratch_;  ///< one per thread
  Metric metric_ = Metric::l2;
  const RadiusSearch* search_ = nullptr;
  float score_max_ = 0;
  std::uint32_t first_ = 0;  ///< first query under way
  std::uint32_t count_ = 0;
  QueryBlocks blocks_;
  std::size_t ranges_ = 0;
  bool is_by_row_ = true;                  ///< the matches of a query are in the order of rows
  std::vector<Found> found_;               ///< [range][block]
  std::atomic<std::uint64_t> entries_{0};  ///< number of matches in found_
  std::vector<std::uint64_t> offsets_;
  std::vector<VectorNeighbor> neighbors_;
};

}  // namespace starling::cpu
