// SPDX-License-Identifier: Apache-2.0
// A k-d tree over rows of one to three components. It finds the same lists as a scan of all rows.
// The lower bound of a node is the recipe's score between the query and the nearest point of the
// node's box, and rounding keeps every step of the recipe monotone. CpuVectorSearcher uses the
// tree.
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
  /// Copies the rows. Their dimension is at most dimension_max. Runs on the calling thread, and
  /// uses the pool only to poll.
  RowTree(VectorsView corpus, ThreadPool& pool);

  bool is_empty() const { return rows_.empty(); }

  /// Writes the lists that VectorSearcher::search specifies, for Recipe::squared_differences. The
  /// tree must have rows. Calls on_progress, except after the last queries.
  void search(const VectorSearch& search, ThreadPool& pool, std::span<VectorNeighbor> lists) const;

  /// Appends to `matches` the rows whose scores for query `first` + `number` are at most score_max.
  /// Sets VectorMatch::query to `number`. Calls `goes_on` every few microseconds, and ends if it
  /// returns false.
  void within(VectorsView queries, std::uint32_t first, std::uint32_t number, float score_max,
              const std::function<bool()>& goes_on, std::vector<VectorMatch>& matches) const;

  /// A box around the rows from `begin` to `end` - 1 of rows(). All rows of an inner node are in
  /// its two children.
  struct Node {
    std::array<float, dimension_max> low{};
    std::array<float, dimension_max> high{};
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t left = 0;  ///< index of the left child, which the right child follows; 0: a leaf
    VectorRow row_min = 0;   ///< the smallest row number in the node
  };

  std::span<const Node> nodes() const { return nodes_; }  ///< the root is the first
  /// The rows in the order of the leaves.
  std::span<const VectorRow> rows() const { return rows_; }
  /// Component `axis` of the rows, in the order of rows(); zeros beyond the dimension.
  std::span<const float> components(std::size_t axis) const { return components_[axis]; }

 private:
  void split(VectorsView corpus, std::uint32_t node, ThreadPool& pool);

  std::vector<Node> nodes_;
  std::vector<VectorRow> rows_;
  std::array<std::vector<float>, dimension_max> components_;
};

}  // namespace starling::cpu
