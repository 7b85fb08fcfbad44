// SPDX-License-Identifier: Apache-2.0
// Makes and stores the shadows of rows. A shadow has 16-bit integers and a scale. The product of
// two shadows is an exact 32-bit sum, and takes about half the time of a product of floats. Each
// row has its own scale, so one row with large components does not make the other shadows coarse.
// ScoreInterval computes from a product of shadows the bounds of a score. FilteredSearch owns the
// shadows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/cpu/vectors/score_interval.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/corpus_rows.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// Two neighbouring components of a shadow. A SIMD lane multiplies two such pairs and adds both
/// products at once.
using ShadowPair = std::int16_t[2];

/// Rounds rows to shadows. Except for the inner product, a centre of the corpus is first subtracted
/// from each row. This does not change distances. Without it, the shadows of rows that lie far from
/// the origin would be coarse.
class ShadowMaker {
 public:
  ShadowMaker() = default;
  ShadowMaker(Metric metric, const CorpusRows& corpus);

  std::uint32_t dimension() const { return dimension_; }
  std::size_t pairs() const { return (dimension_ + std::size_t{1}) / 2; }

  /// Rounds a row. Writes pair j of its integers to pairs[j * stride], and returns the rest of the
  /// shadow. `room` is scratch memory of dimension() elements.
  Shadow make(std::span<const float> row, std::span<double> room, ShadowPair* pairs,
              std::size_t stride) const;

 private:
  std::uint32_t dimension_ = 1;
  /// The largest integer of a shadow: every product of two shadows fits 32 bits.
  double integer_max_ = 1;
  std::vector<float> centre_;
};

/// The shadows of a corpus in panels of `panel_rows` rows. Pair j of row r of a panel is at index
/// j * panel_rows + r of the panel. The panels are not in the order of rows: for every n, the first
/// n panels are spread evenly over the corpus. In the order of rows, a scan of a sorted corpus
/// would begin with many rows that are about equally far from a query, and shadows could not tell
/// these rows apart.
class ShadowPanels {
 public:
  ShadowPanels() = default;
  ShadowPanels(const ShadowMaker& maker, const ScoreInterval& interval, const CorpusRows& corpus,
               std::size_t panel_rows, ThreadPool& pool);

  std::uint32_t rows() const { return static_cast<std::uint32_t>(shadows_.size()); }
  std::size_t pairs() const { return pairs_; }
  std::size_t panels() const { return maxima_.size(); }
  std::size_t panel_rows() const { return panel_rows_; }
  std::size_t panel_bytes() const { return panel_rows_ * pairs_ * sizeof(ShadowPair); }

  const ShadowPair* panel(std::size_t number) const {
    return lines_[0].pairs + number * panel_rows_ * pairs_;
  }
  const Shadow& shadow(VectorRow row) const { return shadows_[row]; }
  /// Returns the first row of a panel. The rows of one panel are consecutive.
  VectorRow first_row(std::size_t panel) const {
    return static_cast<VectorRow>(panel * step_ % panels() * panel_rows_);
  }
  /// Returns panel_rows() numbers. The number of a row is the square of its shadow's length, or 0
  /// for the inner product. After the last row of the corpus the numbers are infinity.
  const float* bases(std::size_t panel) const { return bases_.data() + panel * panel_rows_; }
  const float* scales(std::size_t panel) const { return scales_.data() + panel * panel_rows_; }
  ShadowMaxima maxima(PanelRange panels) const;

 private:
  struct alignas(64) Line {
    ShadowPair pairs[16];
  };

  /// Scratch memory of one thread: dimension() elements each.
  struct Room {
    std::vector<float> row;
    std::vector<double> differences;
  };

  void fill(const ShadowMaker& maker, bool is_product, const CorpusRows& corpus, std::size_t number,
            Room& room);

  std::size_t pairs_ = 1;
  std::size_t panel_rows_ = 1;
  std::size_t step_ = 1;  ///< see first_row; it has no common divisor with the number of panels
  std::unique_ptr<Line[]> lines_;
  std::vector<Shadow> shadows_;  ///< [row]
  std::vector<float> bases_;
  std::vector<float> scales_;
  std::vector<ShadowMaxima> maxima_;  ///< [panel]
};

/// The shadows of some queries in tiles of four. Pair j of query i of a tile is at index
/// j * tile_queries + i of the tile.
class ShadowTiles {
 public:
  static constexpr std::size_t tile_queries = 4;

  /// Makes the shadows of `count` queries from `first` on.
  void make(const ShadowMaker& maker, VectorsView queries, std::uint32_t first,
            std::uint32_t count);

  std::uint32_t queries() const { return static_cast<std::uint32_t>(shadows_.size()); }
  const ShadowPair* tile(std::size_t number) const {
    return pairs_.get() + number * tile_queries * pairs_each_;
  }
  const Shadow& shadow(std::size_t query) const { return shadows_[query]; }

 private:
  std::unique_ptr<ShadowPair[]> pairs_;
  std::size_t room_ = 0;
  std::size_t pairs_each_ = 1;
  std::vector<Shadow> shadows_;
  std::vector<double> row_;
};

}  // namespace starling::cpu
