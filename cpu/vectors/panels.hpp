// Rows of vectors laid out for SIMD: component after component, with neighbouring rows side by
// side, so that each lane of a register holds one row. The scan reads a corpus as panels and
// queries as tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// Rows in panels of `panel_rows` rows: component j of row r of a panel lies at
/// j * panel_rows + r. The last panel of a corpus is filled up with zeros.
class VectorPanels {
 public:
  VectorPanels() = default;
  VectorPanels(VectorsView corpus, std::size_t panel_rows, ThreadPool& pool);
  /// For rows that come one by one, none as yet.
  VectorPanels(std::uint32_t dimension, std::size_t panel_rows);

  /// Takes another corpus of the same dimension over, into the same memory if that suffices.
  void assign(VectorsView corpus, ThreadPool& pool);
  /// Makes room for rows up to `rows`; those that come are zeros. Grows by a quarter at least.
  void grow(std::uint32_t rows);
  /// Rows of one panel lie in the same cache lines; threads may write different ones.
  void write(VectorRow row, std::span<const float> components);
  void read(VectorRow row, std::span<float> components) const;

  std::uint32_t rows() const { return rows_; }
  std::uint32_t dimension() const { return dimension_; }
  std::size_t panels() const { return panels_; }
  std::size_t panel_rows() const { return panel_rows_; }
  std::uint64_t bytes_used() const { return room_panels_ * panel_bytes(); }
  std::size_t panel_bytes() const { return panel_rows_ * dimension_ * sizeof(float); }

  /// On a cache line of its own where panel_rows fills cache lines.
  const float* panel(std::size_t number) const {
    return lines_[0].components + number * panel_rows_ * dimension_;
  }

 private:
  struct alignas(64) Line {
    float components[16];
  };

  void take_room(std::size_t panels);
  void pack(VectorsView corpus, std::size_t number);
  /// Its first component; the next is panel_rows_ on.
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

/// Some queries in tiles of four: component j of query i of a tile lies at j * tile_queries + i.
class QueryTiles {
 public:
  static constexpr std::size_t tile_queries = 4;

  /// Takes over `count` of the queries, from `first` on.
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
