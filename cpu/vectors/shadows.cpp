// SPDX-License-Identifier: Apache-2.0
// Implements shadows.hpp. Computes shadows and bounds on their errors in float64.
#include "starling/cpu/vectors/shadows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace starling::cpu {
namespace {

constexpr std::uint32_t centre_rows_max = 1024;  // the centre is the mean of 1024 rows or fewer
constexpr double integer_bits_max = 32767;
constexpr double sum_max = 2147483647;

/// x + rounder - rounder is x rounded to the nearest integer, if |x| is at most 2^51. This is
/// faster than a call of a library function.
constexpr double rounder = 0x1.8p52;

/// Returns a step such that 0, step, 2 step, ... modulo `panels` reaches every panel once. A step
/// near 0.618 panels (the golden ratio) spreads the panels reached so far evenly.
std::size_t spreading_step(std::size_t panels) {
  auto step =
      std::max<std::size_t>(1, static_cast<std::size_t>(0.618 * static_cast<double>(panels)));
  while (std::gcd(step, panels) > 1) ++step;
  return step;
}

float up(double value) {
  return ScoreInterval::above(value);
}

}  // namespace

ShadowMaker::ShadowMaker(Metric metric, const CorpusRows& corpus)
    : dimension_(corpus.dimension()),
      integer_max_(std::min(std::floor(std::sqrt(sum_max / dimension_)), integer_bits_max)),
      centre_(dimension_) {
  if (metric == Metric::inner_product || corpus.rows() == 0) return;
  const std::uint32_t step = 1 + (corpus.rows() - 1) / centre_rows_max;
  std::vector<double> sums(dimension_);
  std::vector<float> room(dimension_);
  double count = 0;
  for (VectorRow number = 0; number < corpus.rows(); number += step, ++count) {
    const std::span<const float> row = corpus.row(number, room);
    for (std::uint32_t j = 0; j < dimension_; ++j) sums[j] += row[j];
  }
  for (std::uint32_t j = 0; j < dimension_; ++j) centre_[j] = static_cast<float>(sums[j] / count);
}

// Let x be the row minus the centre, and s h its shadow. The components of x, the differences
// `left` and their squares are rounded to float64. All these roundings together change the error by
// less than 2^-45 |x - s h| + 2^-50 |x|, and |x| is at most |s h| + |x - s h|. In shadow.error, the
// factors 1 + 2^-20 and 2^-23 cover these roundings.
Shadow ShadowMaker::make(std::span<const float> row, std::span<double> room, ShadowPair* pairs,
                         std::size_t stride) const {
  double largest = 0;
  for (std::uint32_t j = 0; j < dimension_; ++j) {
    room[j] = static_cast<double>(row[j]) - centre_[j];
    largest = std::max(largest, std::fabs(room[j]));
  }
  Shadow shadow;
  shadow.scale = largest > 0 ? up(largest / integer_max_) : 1.0f;
  const double scale = shadow.scale;
  const double per_scale = 1 / scale;
  double square = 0;
  double rest = 0;
  for (std::uint32_t j = 0; j < dimension_; ++j) {
    const double near = room[j] * per_scale + rounder - rounder;
    const double integer = std::clamp(near, -integer_max_, integer_max_);
    const double left = room[j] - scale * integer;
    square += integer * integer;
    rest += left * left;
    room[j] = integer;
  }
  for (std::uint32_t j = 0; j < dimension_; ++j)
    pairs[j / 2 * stride][j % 2] = static_cast<std::int16_t>(room[j]);
  if (dimension_ % 2 != 0) pairs[dimension_ / 2 * stride][1] = 0;
  shadow.square = scale * scale * square;
  shadow.error = up(std::sqrt(rest) * (1 + 0x1p-20) + 0x1p-23 * std::sqrt(shadow.square));
  return shadow;
}

ShadowPanels::ShadowPanels(const ShadowMaker& maker, const ScoreInterval& interval,
                           const CorpusRows& corpus, std::size_t panel_rows, ThreadPool& pool)
    : pairs_(maker.pairs()), panel_rows_(panel_rows) {
  const std::size_t panels = (corpus.rows() + panel_rows - 1) / panel_rows;
  constexpr std::size_t line_pairs = sizeof(Line) / sizeof(ShadowPair);
  step_ = spreading_step(panels);
  lines_ = std::make_unique_for_overwrite<Line[]>(panels * panel_rows * pairs_ / line_pairs + 1);
  shadows_.resize(corpus.rows());
  bases_.assign(panels * panel_rows, std::numeric_limits<float>::infinity());
  scales_.assign(panels * panel_rows, 0.0f);
  maxima_.resize(panels);
  constexpr std::size_t grain_components = std::size_t{1} << 16;
  const std::size_t grain = 1 + grain_components / (panel_rows * maker.dimension());
  pool.for_ranges(panels, grain, [&](std::size_t begin, std::size_t end, unsigned) {
    Room room{std::vector<float>(maker.dimension()), std::vector<double>(maker.dimension())};
    for (std::size_t number = begin; number < end; ++number)
      fill(maker, interval.is_product(), corpus, number, room);
  });
}

void ShadowPanels::fill(const ShadowMaker& maker, bool is_product, const CorpusRows& corpus,
                        std::size_t number, Room& room) {
  ShadowPair* const panel = lines_[0].pairs + number * panel_rows_ * pairs_;
  const std::size_t first = first_row(number);
  const std::size_t filled = std::min<std::size_t>(panel_rows_, corpus.rows() - first);
  if (filled < panel_rows_) std::fill_n(&panel[0][0], 2 * panel_rows_ * pairs_, std::int16_t{0});
  for (std::size_t r = 0; r < filled; ++r) {
    const auto row = static_cast<VectorRow>(first + r);
    const Shadow shadow =
        maker.make(corpus.row(row, room.row), room.differences, panel + r, panel_rows_);
    shadows_[row] = shadow;
    bases_[number * panel_rows_ + r] = is_product ? 0.0f : static_cast<float>(shadow.square);
    scales_[number * panel_rows_ + r] = shadow.scale;
    maxima_[number].square = std::max(maxima_[number].square, shadow.square);
    maxima_[number].error = std::max(maxima_[number].error, shadow.error);
  }
}

ShadowMaxima ShadowPanels::maxima(PanelRange panels) const {
  ShadowMaxima all;
  for (std::size_t number = panels.begin; number < panels.end; ++number) {
    all.square = std::max(all.square, maxima_[number].square);
    all.error = std::max(all.error, maxima_[number].error);
  }
  return all;
}

void ShadowTiles::make(const ShadowMaker& maker, VectorsView queries, std::uint32_t first,
                       std::uint32_t count) {
  pairs_each_ = maker.pairs();
  const std::size_t tiles = (count + tile_queries - 1) / tile_queries;
  const std::size_t pairs = tiles * tile_queries * pairs_each_;
  if (pairs > room_) {
    room_ = 0;
    pairs_ = std::make_unique_for_overwrite<ShadowPair[]>(pairs);
    room_ = pairs;
  }
  std::fill_n(&pairs_[0][0], 2 * pairs, std::int16_t{0});
  shadows_.resize(count);
  row_.resize(maker.dimension());
  for (std::uint32_t i = 0; i < count; ++i)
    shadows_[i] =
        maker.make(queries.row(first + i), row_,
                   pairs_.get() + i / tile_queries * tile_queries * pairs_each_ + i % tile_queries,
                   tile_queries);
}

}  // namespace starling::cpu
