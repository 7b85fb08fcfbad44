// SPDX-License-Identifier: Apache-2.0
// Builds the tree and searches it, nearest nodes first: see row_tree.hpp. The search is compiled
// once per instruction set, so that std::fma is a single instruction wherever the set has one.
#include "starling/cpu/vectors/tree/row_tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>

#include "starling/knn/words/metric.hpp"

// Compiles the code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "starling/cpu/vectors/tree/row_tree.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace starling::cpu {
namespace HWY_NAMESPACE {

using Point = std::array<float, RowTree::dimension_max>;

constexpr std::size_t leaves_a_turn = 64;

/// Returns the score by the recipe of squared differences. Components beyond the dimension are 0 in
/// the query and in the row, and change no bit.
HWY_INLINE float score_of(const Point& query, float x, float y, float z) {
  const float s = std::fma(query[0] - x, query[0] - x, 0.0F);
  const float t = std::fma(query[1] - y, query[1] - y, s);
  return std::fma(query[2] - z, query[2] - z, t);
}

/// Returns a key that no row of the node is below. Along each axis, the box's nearest point is no
/// farther from the query than a row of the box. Rounding keeps this order, in the differences and
/// in the sums of their squares.
HWY_INLINE std::uint64_t least_key(const RowTree::Node& node, const Point& query) {
  Point nearest;
  for (std::size_t axis = 0; axis < nearest.size(); ++axis)
    nearest[axis] = std::min(std::max(query[axis], node.low[axis]), node.high[axis]);
  const float score = score_of(query, nearest[0], nearest[1], nearest[2]);
  return std::uint64_t{ordered_of(score)} << 32 | node.row_min;
}

HWY_INLINE Point point_of(VectorsView queries, std::size_t query) {
  Point point{};
  std::ranges::copy(queries.row(static_cast<std::uint32_t>(query)), point.begin());
  return point;
}

/// Searches for one query after another, on one thread.
class TreeSearch {
 public:
  TreeSearch(const RowTree& tree, std::uint32_t k) : tree_(tree), k_(k) { keys_.reserve(k); }

  /// Returns the keys of the k nearest rows without `self`, nearest first. Valid until the next
  /// call.
  std::span<const std::uint64_t> nearest(const Point& query, VectorRow self) {
    keys_.clear();
    waiting_.clear();
    waiting_.push_back({least_key(tree_.nodes()[0], query), 0});
    while (!waiting_.empty()) {
      const Waiting next = waiting_.back();
      waiting_.pop_back();
      if (next.key < gate()) visit(next.node, query, self);
    }
    std::sort_heap(keys_.begin(), keys_.end());
    return keys_;
  }

 private:
  struct Waiting {
    std::uint64_t key;
    std::uint32_t node;
  };

  /// Returns the gate: only a row with a key below it can be in the list.
  std::uint64_t gate() const {
    return keys_.size() < k_ ? std::numeric_limits<std::uint64_t>::max() : keys_.front();
  }

  /// Goes down to the leaf that is nearest to the query, and keeps the other children for later.
  void visit(std::uint32_t at, const Point& query, VectorRow self) {
    const std::span<const RowTree::Node> nodes = tree_.nodes();
    while (nodes[at].left != 0) {
      Waiting near{least_key(nodes[nodes[at].left], query), nodes[at].left};
      Waiting far{least_key(nodes[nodes[at].left + 1], query), nodes[at].left + 1};
      if (far.key < near.key) std::swap(near, far);
      if (far.key < gate()) waiting_.push_back(far);
      at = near.node;
    }
    add_rows(nodes[at], query, self);
  }

  void add_rows(const RowTree::Node& leaf, const Point& query, VectorRow self) {
    const float* const x = tree_.components(0).data();
    const float* const y = tree_.components(1).data();
    const float* const z = tree_.components(2).data();
    for (std::uint32_t i = leaf.begin; i < leaf.end; ++i) {
      const VectorRow row = tree_.rows()[i];
      const std::uint64_t key =
          std::uint64_t{ordered_of(score_of(query, x[i], y[i], z[i]))} << 32 | row;
      if (key >= gate() || row == self) continue;
      if (keys_.size() == k_) {
        std::pop_heap(keys_.begin(), keys_.end());
        keys_.pop_back();
      }
      keys_.push_back(key);
      std::push_heap(keys_.begin(), keys_.end());
    }
  }

  const RowTree& tree_;
  std::uint32_t k_;
  std::vector<std::uint64_t> keys_;  ///< a heap with the greatest key first
  std::vector<Waiting> waiting_;
};

void search_tree_target(const RowTree& tree, const VectorSearch& search, std::size_t begin,
                        std::size_t end, std::span<VectorNeighbor> lists) {
  TreeSearch one(tree, search.k);
  for (std::size_t i = begin; i < end; ++i) {
    const Point query = point_of(search.queries, i);
    const VectorRow self =
        search.first_self == no_row ? no_row : static_cast<VectorRow>(search.first_self + i);
    VectorNeighbor* out = lists.data() + i * search.k;
    VectorNeighbor* const list_end = out + search.k;
    for (const std::uint64_t key : one.nearest(query, self))
      *out++ = {score_of_ordered(static_cast<std::uint32_t>(key >> 32)),
                static_cast<VectorRow>(key)};
    std::fill(out, list_end, VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
  }
}

void search_within_target(const RowTree& tree, VectorsView queries, std::uint32_t first,
                          std::uint32_t number, float score_max,
                          const std::function<bool()>& goes_on, std::vector<VectorMatch>& matches) {
  const float* const x = tree.components(0).data();
  const float* const y = tree.components(1).data();
  const float* const z = tree.components(2).data();
  const std::uint64_t key_max = std::uint64_t{ordered_of(score_max)} << 32 | no_row;
  const Point query = point_of(queries, first + number);
  std::size_t leaves = 0;
  for (std::vector<std::uint32_t> waiting{0}; !waiting.empty();) {
    const RowTree::Node& node = tree.nodes()[waiting.back()];
    waiting.pop_back();
    if (least_key(node, query) > key_max) continue;
    if (node.left != 0) {
      waiting.push_back(node.left);
      waiting.push_back(node.left + 1);
      continue;
    }
    if (leaves++ % leaves_a_turn == 0 && !goes_on()) return;
    for (std::uint32_t at = node.begin; at < node.end; ++at) {
      const float score = score_of(query, x[at], y[at], z[at]);
      if (score <= score_max) matches.push_back({number, {score, tree.rows()[at]}});
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace starling::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace starling::cpu {
namespace {

// Not tuned. With this limit, the k-NN graph of 200,000 rows of 3 components with k = 8 takes a
// tenth of the time of a scan.
constexpr std::uint32_t leaf_rows_max = 16;
constexpr std::size_t progress_queries = std::size_t{1} << 14;
constexpr std::size_t search_grain = 256;

}  // namespace

HWY_EXPORT(search_tree_target);
HWY_EXPORT(search_within_target);

RowTree::RowTree(VectorsView corpus, ThreadPool& pool) : rows_(corpus.rows()) {
  std::iota(rows_.begin(), rows_.end(), VectorRow{0});
  if (rows_.empty()) return;
  nodes_.push_back({.end = static_cast<std::uint32_t>(rows_.size())});
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) split(corpus, node, pool);
  for (std::size_t axis = 0; axis < dimension_max; ++axis) {
    components_[axis].resize(rows_.size());
    if (axis >= corpus.dimension) continue;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      pool.poll_after_tiny_step();
      components_[axis][i] = corpus.row(rows_[i])[axis];
    }
  }
}

/// Fits the node's box to its rows. If there are more than leaf_rows_max rows, adds two children.
/// Equal components are split by row number, so that nodes stay small even among equal rows.
void RowTree::split(VectorsView corpus, std::uint32_t node, ThreadPool& pool) {
  Node& box = nodes_[node];
  const auto begin = rows_.begin() + box.begin;
  const auto end = rows_.begin() + box.end;
  box.row_min = *std::min_element(begin, end);
  std::size_t widest = 0;
  for (std::size_t axis = 0; axis < corpus.dimension; ++axis) {
    const auto component = [&](VectorRow row) { return corpus.row(row)[axis]; };
    box.low[axis] = box.high[axis] = component(*begin);
    for (auto row = begin; row != end; ++row) {
      pool.poll_after_tiny_step();
      box.low[axis] = std::min(box.low[axis], component(*row));
      box.high[axis] = std::max(box.high[axis], component(*row));
    }
    if (box.high[axis] - box.low[axis] > box.high[widest] - box.low[widest]) widest = axis;
  }
  if (box.end - box.begin <= leaf_rows_max) return;
  const std::uint32_t middle = box.begin + (box.end - box.begin) / 2;
  std::nth_element(begin, rows_.begin() + middle, end, [&](VectorRow a, VectorRow b) {
    pool.poll_after_tiny_step();
    const float of_a = corpus.row(a)[widest];
    const float of_b = corpus.row(b)[widest];
    return of_a != of_b ? of_a < of_b : a < b;
  });
  box.left = static_cast<std::uint32_t>(nodes_.size());
  const Node left{.begin = box.begin, .end = middle};
  const Node right{.begin = middle, .end = box.end};
  nodes_.push_back(left);
  nodes_.push_back(right);
}

void RowTree::search(const VectorSearch& search, ThreadPool& pool,
                     std::span<VectorNeighbor> lists) const {
  const std::size_t queries = search.queries.rows();
  for (std::size_t first = 0; first < queries; first += progress_queries) {
    const std::size_t count = std::min(progress_queries, queries - first);
    pool.for_ranges(count, search_grain, [&](std::size_t begin, std::size_t end, unsigned) {
      HWY_DYNAMIC_DISPATCH(search_tree_target)(*this, search, first + begin, first + end, lists);
    });
    if (search.on_progress && first + count < queries) search.on_progress(first + count);
  }
}

void RowTree::within(VectorsView queries, std::uint32_t first, std::uint32_t number,
                     float score_max, const std::function<bool()>& goes_on,
                     std::vector<VectorMatch>& matches) const {
  HWY_DYNAMIC_DISPATCH(search_within_target)
  (*this, queries, first, number, score_max, goes_on, matches);
}

}  // namespace starling::cpu
#endif
