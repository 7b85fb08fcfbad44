// SPDX-License-Identifier: Apache-2.0
// Hands the lists of a k-NN graph over to the host tile by tile: into one array that has room for
// all lists, or through a buffer of one tile. DeviceSearcher and split_searcher.cpp use GraphTiles
// for graphs whose lists they keep on devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "starling/knn/vectors/searcher.hpp"

namespace starling::gpu {

/// Refers to the arguments of its constructor, which must outlive the GraphTiles.
class GraphTiles {
 public:
  /// The search is a whole graph: its queries are all rows. All lists go to `lists`.
  GraphTiles(const VectorSearch& search, std::span<VectorNeighbor> lists)
      : k_(search.k),
        rows_(search.queries.rows()),
        tile_rows_max_(rows_),
        lists_(lists),
        on_progress_(search.on_progress) {}
  /// Each tile goes to `take`.
  GraphTiles(const GraphSearch& graph, const TakeLists& take)
      : k_(graph.k),
        rows_(graph.rows.rows()),
        tile_rows_max_(graph.tile_rows_max),
        take_(&take),
        on_progress_(graph.on_progress) {}

  std::uint32_t k() const { return k_; }
  /// Returns how many rows each tile has, except that the last tile may have fewer: at most
  /// `rows_max`, at least 1.
  std::uint32_t tile_rows(std::uint32_t rows_max) const {
    return std::max(std::min({rows_, tile_rows_max_, rows_max}), 1u);
  }

  /// Calls fill(first, count, lists) for the lists of rows [first, first + count), tile after tile.
  /// `fill` must have written them to `lists` when it returns. `tile_rows` is at least 1.
  template <class Fill>
  void for_each(std::uint32_t tile_rows, const Fill& fill) const {
    std::vector<VectorNeighbor> tile(take_ == nullptr ? 0 : std::size_t{tile_rows} * k_);
    for (std::uint32_t first = 0; first < rows_; first += tile_rows) {
      const std::uint32_t count = std::min(tile_rows, rows_ - first);
      const std::size_t entries = std::size_t{count} * k_;
      const std::span<VectorNeighbor> lists = take_ == nullptr
                                                  ? lists_.subspan(std::size_t{first} * k_, entries)
                                                  : std::span(tile).first(entries);
      fill(first, count, lists);
      if (on_progress_) on_progress_(std::uint64_t{first} + count);
      if (take_ != nullptr) (*take_)(first, lists);
    }
  }

 private:
  std::uint32_t k_;
  std::uint32_t rows_;
  std::uint32_t tile_rows_max_;
  std::span<VectorNeighbor> lists_{};
  const TakeLists* take_ = nullptr;  ///< null: all lists go to lists_
  const std::function<void(std::uint64_t)>& on_progress_;
};

/// Finds a graph by one search after another. Returns the sum of the device times of all searches,
/// in milliseconds.
inline double search_graph_by_searches(VectorSearcher& searcher, const GraphSearch& graph,
                                       const TakeLists& take) {
  double all_ms = 0;
  const auto take_and_add = [&](VectorRow first, std::span<const VectorNeighbor> lists) {
    all_ms += searcher.device_ms();
    take(first, lists);
  };
  searcher.VectorSearcher::search_graph(graph, take_and_add);
  return all_ms;
}

}  // namespace starling::gpu
