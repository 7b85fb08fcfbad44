// SPDX-License-Identifier: Apache-2.0
// Shadows: the rows of a corpus and the queries of a batch in half precision, with bounds on their
// errors. Plain views; docs/decisions/0007-vector-filter.md says what the filter does with them.
#pragma once

#include <cstdint>

#include <vector_types.h>

namespace starling::gpu {

/// Rows are padded with zeros to whole tiles, and components to whole slices.
inline constexpr std::uint32_t shadow_tile_rows = 128;
inline constexpr std::uint32_t shadow_slice = 32;

constexpr std::uint32_t shadow_stride(std::uint32_t dimension) {
  return (dimension + shadow_slice - 1) / shadow_slice * shadow_slice;
}
constexpr std::uint64_t shadow_tiles(std::uint64_t rows) {
  return (rows + shadow_tile_rows - 1) / shadow_tile_rows;
}

/// Values that the shadows of a corpus and of all its queries share: shadow = half((x - center) *
/// scale). The lengths below are lengths of shadows; the square of a length is a score times
/// scale^2.
struct ShadowFrame {
  std::uint32_t reach_bits = 0;  ///< the float's bits of the largest |x[j] - center[j]|
  float error_max = 0;           ///< over all rows of the corpus
  float half_norm_max = 0;       ///< over all rows of the corpus
};

/// The norms of a row x, whose shadow h is (x - center) * scale in half precision.
struct ShadowNorms {
  float half_norm;  ///< |h|^2 / 2, rounded down; the relative error is below 2^-22
  float error;      ///< |(x - center) * scale - h|, rounded up
};

/// The maxima over a tile of rows.
struct ShadowTile {
  float error_max;
  float half_norm_max;
};

struct ShadowView {
  const std::uint16_t* halves = nullptr;  ///< [row][stride]
  const ShadowNorms* norms = nullptr;     ///< [row]
  const ShadowTile* tiles = nullptr;      ///< [row / shadow_tile_rows]
  const float4* center = nullptr;         ///< [group]
  const ShadowFrame* frame = nullptr;
  std::uint32_t stride = 0;
};

/// The norms of a query of a batch, whose shadow is h.
struct ShadowQuery {
  float half_norm;  ///< as ShadowNorms::half_norm
  float error;      ///< as ShadowNorms::error
  float norm;       ///< |h|, rounded up
  float reach;      ///< see reach_of() in filter_interval.cuh; infinity until a bound is known
};

}  // namespace starling::gpu
