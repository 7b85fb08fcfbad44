// SPDX-License-Identifier: Apache-2.0
// Stores rows in panels and queries in tiles, for SIMD. In a panel, the first components of all its
// rows lie side by side, then the second components, and so on. So each lane of a register can hold
// a component of its own row. The scan reads a corpus as panels and queries as tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/corpus_rows.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// Rows in panels of `panel_rows` rows each. Component j of row r of a panel is at index
/// j * panel_rows + r of the panel. Zeros fill the rest of the last panel.
class VectorPanels {
 public:
  VectorPanels() = default;
  VectorPanels(const CorpusRows& corpus, std::size_t panel_rows, ThreadPool& pool);
  /// Makes an object without rows. Later calls of grow and write add rows.
  VectorPanels(std::uint32_t dimension, std::size_t panel_rows);

  /// Replaces all rows by those of another corpus of the same dimension. Allocates only if the
  /// memory is too small for that corpus.
  void assign(VectorsView corpus, ThreadPool& pool);
  /// The same for `count` rows of the corpus from `first` on.
  void assign(const CorpusRows& corpus, VectorRow first, std::uint32_t count, ThreadPool& pool);
  /// Grows to at least `rows` rows. New rows are zeros. If the memory is too small, it grows by at
  /// least a quarter.
  void grow(std::uint32_t rows);
  /// Writes one row. Threads may write different rows at the same time, although the rows of a
  /// panel share cache lines.
  void write(VectorRow row, std::span<const float> components);
  void read(VectorRow row, std::span<float> components) const;

  std::uint32_t rows() const { return rows_; }
  std::uint32_t dimension() const { return dimension_; }
  std::size_t panels() const { return panels_; }
  std::size_t panel_rows() const { return panel_rows_; }
  std::uint64_t bytes_used() const { return room_panels_ * panel_bytes(); }
  std::size_t panel_bytes() const { return panel_rows_ * dimension_ * sizeof(float); }

  /// Returns the components of a panel. A panel begins at the start of a cache line if panel_rows
  /// is a multiple of 16.
  const float* panel(std::size_t number) const {
    return lines_[0].components + number * panel_rows_ * dimension_;
  }

 private:
  struct alignas(64) Line {
    float components[16];
  };

  void take_room(std::size_t panels);
  /// Fills a panel with its rows. The first row is at `rows`.
  void pack(const float* rows, std::size_t number);
  /// Returns how many rows a panel has.
  std::size_t filled(std::size_t number) const {
    return std::min<std::size_t>(panel_rows_, rows_ - number * panel_rows_);
  }
  /// Returns the first component of a row. The next component is panel_rows_ floats later.
  float* row_at(VectorRow row) const {
    return lines_[0].components + row / panel_rows_ * panel_rows_ * dimension_ + row % panel_rows_;
  }

  std::unique_ptr<Line[]> lines_;
  std::uint32_t rows_ = 0;
  std::uint32_t dimension_ = 0;
  std::size_t panel_rows_ = 1;
  std::size_t panels_ = 0;
  std::size_t room_panels_ = 0;
};

/// Queries in tiles of four. Component j of query i of a tile is at index j * tile_queries + i of
/// the tile.
class QueryTiles {
 public:
  static constexpr std::size_t tile_queries = 4;

  /// Copies `count` queries from `first` on.
  void pack(VectorsView queries, std::uint32_t first, std::uint32_t count);

  std::uint32_t queries() const { return queries_; }
  const float* tile(std::size_t number) const {
    return components_.data() + number * tile_queries * dimension_;
  }

 private:
  std::vector<float> components_;
  std::uint32_t queries_ = 0;
  std::uint32_t dimension_ = 0;
};

}  // namespace starling::cpu
