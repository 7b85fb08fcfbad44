// SPDX-License-Identifier: Apache-2.0
// Shadows: the rows of a corpus and the queries of a batch in half precision, with bounds on their
// errors. The structs own no memory. docs/decisions/0007-vector-filter.md says what the filter does
// with shadows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <vector_types.h>

namespace starling::gpu {

/// Shadows are padded with zeros: rows to whole tiles of shadow_tile_rows rows, and the components
/// of a row to whole slices of shadow_slice components.
inline constexpr std::uint32_t shadow_tile_rows = 128;
inline constexpr std::uint32_t shadow_slice = 32;

constexpr std::uint32_t shadow_stride(std::uint32_t dimension) {
  return (dimension + shadow_slice - 1) / shadow_slice * shadow_slice;
}
constexpr std::uint64_t shadow_tiles(std::uint64_t rows) {
  return (rows + shadow_tile_rows - 1) / shadow_tile_rows;
}

/// Returns the index of a component of a row in the halves of a corpus or of queries. A tile of
/// rows stores slice 0 of all its rows, then slice 1 of all its rows, and so on. So kernels read
/// slices of neighbouring rows from contiguous memory.
constexpr std::size_t shadow_place(std::uint32_t stride, std::uint32_t row,
                                   std::uint32_t component) {
  const std::size_t slice_begin =
      std::size_t{row / shadow_tile_rows} * stride + component / shadow_slice * shadow_slice;
  return slice_begin * shadow_tile_rows + row % shadow_tile_rows * shadow_slice +
         component % shadow_slice;
}

/// Values that the shadows of a corpus and of all its queries have in common. The shadow of a row x
/// is (x - center) * scale in half precision; scale_of() computes the scale. Norms and errors in
/// this file are multiplied by scale, half norms by scale^2.
struct ShadowFrame {
  std::uint32_t reach_bits = 0;  ///< bits of a float: the largest |x[j] - center[j]|, without scale
  float error_max = 0;           ///< the largest ShadowNorms::error of the corpus
  float half_norm_max = 0;       ///< the largest ShadowNorms::half_norm of the corpus
};

/// The norms of the shadow h of a row x: h is (x - center) * scale in half precision.
struct ShadowNorms {
  float half_norm;  ///< |h|^2 / 2, rounded down; the relative error is below 2^-22
  float error;      ///< |(x - center) * scale - h|, rounded up
};

/// The largest values of ShadowNorms in a tile of rows.
struct ShadowTile {
  float error_max;
  float half_norm_max;
};

struct ShadowView {
  const std::uint16_t* halves = nullptr;  ///< see shadow_place()
  const ShadowNorms* norms = nullptr;     ///< [row]
  const ShadowTile* tiles = nullptr;      ///< [row / shadow_tile_rows]
  const float4* center = nullptr;         ///< [group]
  const ShadowFrame* frame = nullptr;
  std::uint32_t stride = 0;
};

/// The norms of the shadow h of a query.
struct ShadowQuery {
  float half_norm;  ///< see ShadowNorms::half_norm
  float error;      ///< see ShadowNorms::error
  float norm;       ///< |h|, rounded up
  float reach;      ///< see reach_of() in filter_interval.cuh; infinity until a bound is known
};

}  // namespace starling::gpu
