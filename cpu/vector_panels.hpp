// Rows of vectors laid out for SIMD: component after component, with neighbouring rows side by
// side, so that each lane of a register holds one row. The scan reads a corpus as panels and
// queries as tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/thread_pool.hpp"
#include "knn/vectors.hpp"

namespace starling::cpu {

/// A corpus in panels of `panel_rows` rows: component j of row r of a panel lies at
/// j * panel_rows + r. The last panel is filled up with zeros.
class VectorPanels {
 public:
  VectorPanels() = default;
  VectorPanels(VectorsView corpus, std::size_t panel_rows, ThreadPool& pool);

  std::uint32_t rows() const { return rows_; }
  std::uint32_t dimension() const { return dimension_; }
  std::size_t panels() const { return panels_; }
  std::size_t panel_rows() const { return panel_rows_; }
  std::size_t panel_bytes() const { return panel_rows_ * dimension_ * sizeof(float); }

  /// On a cache line of its own where panel_rows fills cache lines.
  const float* panel(std::size_t number) const {
    return lines_[0].components + number * panel_rows_ * dimension_;
  }

 private:
  struct alignas(64) Line {
    float components[16];
  };

  void pack(VectorsView corpus, std::size_t number);

  std::unique_ptr<Line[]> lines_;
  std::uint32_t rows_ = 0;
  std::uint32_t dimension_ = 0;
  std::size_t panel_rows_ = 1;
  std::size_t panels_ = 0;
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
