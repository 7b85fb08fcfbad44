// SPDX-License-Identifier: Apache-2.0
// Shadows of rows: 16-bit integers whose products are exact 32-bit sums and need half the time of
// float products. Each row has its own scale, so that one large row does not make the shadows of
// the others coarse. ScoreInterval tells what a product of shadows says about a score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "starling/cpu/vectors/score_interval.hpp"
#include "starling/cpu/vectors/search_parts.hpp"
#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::cpu {

/// Two neighbouring components of a shadow: a SIMD lane multiplies and adds both at once.
using ShadowPair = std::int16_t[2];

/// Rounds rows to shadows. Rows of L2 are taken relative to a centre, which does not change
/// distances: far from the origin the shadows would be coarse.
class ShadowMaker {
 public:
  ShadowMaker() = default;
  ShadowMaker(Metric metric, VectorsView corpus);

  std::uint32_t dimension() const { return dimension_; }
  std::size_t pairs() const { return (dimension_ + std::size_t{1}) / 2; }

  /// Writes the integers of a row, pair j to pairs[j * stride]. Returns the rest of the shadow.
  /// `room` has dimension() elements; its content does not matter.
  Shadow make(std::span<const float> row, std::span<double> room, ShadowPair* pairs,
              std::size_t stride) const;

 private:
  std::uint32_t dimension_ = 1;
  double integer_max_ = 1;  ///< no sum of products of integers up to it leaves 32 bits
  std::vector<float> centre_;
};

/// The shadows of a corpus in panels of `panel_rows` rows. Pair j of row r of a panel is at index
/// j * panel_rows + r. Panels do not lie in the order of rows: any first panels are spread evenly
/// over the corpus. In a corpus that is sorted, a scan in order of rows would begin with rows that
/// are all equally far from a query, and the shadows could not tell them apart.
class ShadowPanels {
 public:
  ShadowPanels() = default;
  ShadowPanels(const ShadowMaker& maker, const ScoreInterval& interval, VectorsView corpus,
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
  /// Returns the first row of a panel. The other rows of the panel follow it.
  VectorRow first_row(std::size_t panel) const {
    return static_cast<VectorRow>(panel * step_ % panels() * panel_rows_);
  }
  /// For each row of a panel: |s h|^2, or 0 for the inner product. Infinity after the last row.
  const float* bases(std::size_t panel) const { return bases_.data() + panel * panel_rows_; }
  const float* scales(std::size_t panel) const { return scales_.data() + panel * panel_rows_; }
  ShadowMaxima maxima(PanelRange panels) const;

 private:
  struct alignas(64) Line {
    ShadowPair pairs[16];
  };

  void fill(const ShadowMaker& maker, bool is_product, VectorsView corpus, std::size_t number,
            std::span<double> room);

  std::size_t pairs_ = 1;
  std::size_t panel_rows_ = 1;
  std::size_t step_ = 1;  ///< from one panel to the next, modulo the number of panels
  std::unique_ptr<Line[]> lines_;
  std::vector<Shadow> shadows_;  ///< by row
  std::vector<float> bases_;
  std::vector<float> scales_;
  std::vector<ShadowMaxima> maxima_;  ///< by panel
};

/// The shadows of some queries in tiles of four. Pair j of query i of a tile is at index
/// j * tile_queries + i.
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
