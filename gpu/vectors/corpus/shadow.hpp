// The rows of a corpus, and the queries of a batch, once more in half precision, with what is known
// of how far they are from the truth. Plain views; what they mean stands in
// docs/decisions/0007-vector-filter.md.
#pragma once

#include <cstdint>

#include <vector_types.h>

namespace starling::gpu {

inline constexpr std::uint32_t shadow_tile_rows =
    128;                                           ///< rows are padded with zeros to whole tiles
inline constexpr std::uint32_t shadow_slice = 32;  ///< components are padded to whole slices

constexpr std::uint32_t shadow_stride(std::uint32_t dimension) {
  return (dimension + shadow_slice - 1) / shadow_slice * shadow_slice;
}
constexpr std::uint64_t shadow_tiles(std::uint64_t rows) {
  return (rows + shadow_tile_rows - 1) / shadow_tile_rows;
}

/// What the shadows of a corpus and of all its queries have in common: shadow = half((x - center) *
/// scale). Lengths below are those of shadows; squares of them are scores times scale^2.
struct ShadowFrame {
  std::uint32_t reach_bits = 0;  ///< the largest |x - center| of the corpus
  float error_max = 0;           ///< of all rows of the corpus
  float half_norm_max = 0;
};

/// Of a row's shadow h of (x - center) * scale.
struct ShadowNorms {
  float half_norm;  ///< |h|^2 / 2, rounded down; less than 2^-22 of it is missing
  float error;      ///< |(x - center) * scale - h|, rounded up
};

/// Of a tile of rows.
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

/// Of a query of a batch.
struct ShadowQuery {
  float half_norm;  ///< as ShadowNorms'
  float error;
  float norm;   ///< |h|, rounded up
  float reach;  ///< see FilterLimits::reach_of(); infinity until a bound is known
};

}  // namespace starling::gpu
