// SPDX-License-Identifier: Apache-2.0
// A k-d tree over rows of one to three components. It finds the same lists as a scan of all rows:
// the lower bound of a node is the recipe itself, from the query to the nearest point of the node's
// box, and all steps of the recipe are monotone after rounding. CpuVectorSearcher uses it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/vectors/store.hpp"

namespace starling::cpu {

class RowTree {
 public:
  static constexpr std::uint32_t dimension_max = 3;

  RowTree() = default;
  /// Copies the rows, whose dimension is at most dimension_max. Uses no thread of the pool, but its
  /// poll.
  RowTree(VectorsView corpus, ThreadPool& pool);

  bool is_empty() const { return rows_.empty(); }

  /// Finds the lists as VectorSearcher::search does, for Recipe::squared_differences, if the tree
  /// has rows. Calls on_progress, but not for the last queries.
  void search(const VectorSearch& search, ThreadPool& pool, std::span<VectorNeighbor> lists) const;

  /// Appends to `matches` the rows whose scores for query `first` + `number` are at most score_max,
  /// with VectorMatch::query `number`. Calls `goes_on` every few microseconds, and ends if it
  /// returns false.
  void within(VectorsView queries, std::uint32_t first, std::uint32_t number, float score_max,
              const std::function<bool()>& goes_on, std::vector<VectorMatch>& matches) const;

  /// A box around rows that lie side by side. All rows of an inner node are in its two children.
  struct Node {
    std::array<float, dimension_max> low{};
    std::array<float, dimension_max> high{};
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t left = 0;  ///< 0: a leaf; else the right child is the next node
    VectorRow row_min = 0;   ///< the least row of the node
  };

  std::span<const Node> nodes() const { return nodes_; }  ///< the root is the first
  /// The rows in the order of the leaves.
  std::span<const VectorRow> rows() const { return rows_; }
  /// Component `axis` of these rows; zeros beyond the dimension.
  std::span<const float> components(std::size_t axis) const { return components_[axis]; }

 private:
  void split(VectorsView corpus, std::uint32_t node, ThreadPool& pool);

  std::vector<Node> nodes_;
  std::vector<VectorRow> rows_;
  std::array<std::vector<float>, dimension_max> components_;
};

}  // namespace starling::cpu
