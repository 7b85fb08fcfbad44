// SPDX-License-Identifier: Apache-2.0
// Copies the rows of a corpus to the device piece by piece, packs them into panels, and makes the
// shadow of the rows: see device_vectors.hpp.
#include "starling/gpu/vectors/corpus/device_vectors.hpp"

#include <algorithm>

#include "starling/gpu/vectors/corpus/pack_launch.hpp"
#include "starling/gpu/vectors/corpus/shadow_launch.hpp"

namespace starling::gpu {
namespace {

/// Rows are copied and packed in pieces of about this size.
constexpr std::size_t packing_bytes = std::size_t{16} << 20;

std::uint32_t packing_rows(std::uint32_t dimension) {
  const std::size_t rows = packing_bytes / (dimension * sizeof(float));
  return static_cast<std::uint32_t>(std::max<std::size_t>(rows / panel_rows, 1)) * panel_rows;
}

}  // namespace

std::uint64_t DeviceVectors::bytes_for(std::uint32_t rows, std::uint32_t dimension, Shadow shadow) {
  const std::uint64_t packed = packed_groups(rows, panel_rows, dimension) * sizeof(float4);
  if (shadow == Shadow::none || rows == 0) return packed;
  const std::uint64_t stride = shadow_stride(dimension);
  const std::uint64_t copy =
      shadow == Shadow::halves ? 0 : packed_groups(rows, 1, dimension) * sizeof(float4);
  return packed + copy +
         shadow_tiles(rows) *
             (shadow_tile_rows * (stride * sizeof(std::uint16_t) + sizeof(ShadowNorms)) +
              sizeof(ShadowTile)) +
         stride * sizeof(float) + sizeof(ShadowFrame);
}

std::uint64_t DeviceVectors::packing_bytes_for(std::uint32_t dimension) {
  return std::uint64_t{packing_rows(dimension)} * dimension * sizeof(float);
}

DeviceVectors::DeviceVectors(DeviceMemory& memory, Metric metric, VectorsView rows,
                             VectorRow first_row, Shadow shadow, const CudaStream& stream)
    : recipe_(recipe_of(metric)),
      rows_(rows.rows()),
      dimension_(rows.dimension),
      first_row_(first_row),
      groups_(memory),
      rows_groups_(memory),
      halves_(memory),
      norms_(memory),
      tiles_(memory),
      center_(memory),
      frame_(memory) {
  if (rows_ == 0) return;
  groups_.reserve(packed_groups(rows_, panel_rows, dimension_));
  if (shadow == Shadow::halves_and_rows)
    rows_groups_ = DeviceBuffer<float4>(memory, packed_groups(rows_, 1, dimension_));
  const std::uint32_t piece_rows = std::min(packing_rows(dimension_), rows_);
  DeviceBuffer<float> piece(memory, std::size_t{piece_rows} * dimension_);
  const DrainAtEnd drain(stream);
  for (std::uint32_t begin = 0; begin < rows_; begin += piece_rows) {
    const std::uint32_t count = std::min(piece_rows, rows_ - begin);
    copy_to_device_async(
        rows.components.subspan(std::size_t{begin} * dimension_, std::size_t{count} * dimension_),
        piece, stream);
    pack_async(piece.data(), count, dimension_, panel_rows,
               groups_.data() + packed_groups(begin, panel_rows, dimension_), stream);
    if (shadow == Shadow::halves_and_rows)
      pack_async(piece.data(), count, dimension_, 1,
                 rows_groups_.data() + packed_groups(begin, 1, dimension_), stream);
  }
  if (shadow != Shadow::none) {
    const std::uint32_t stride = shadow_stride(dimension_);
    const std::size_t tiles = shadow_tiles(rows_);
    halves_ = DeviceBuffer<std::uint16_t>(memory, tiles * shadow_tile_rows * stride);
    norms_ = DeviceBuffer<ShadowNorms>(memory, tiles * shadow_tile_rows);
    tiles_ = DeviceBuffer<ShadowTile>(memory, tiles);
    center_ = DeviceBuffer<float4>(memory, stride / 4);
    frame_ = DeviceBuffer<ShadowFrame>(memory, 1);
    make_shadow_async(panels(), rows_, recipe_ == Recipe::product, view().shadow, stream);
  }
  stream.wait();
}

CorpusView DeviceVectors::view() const {
  CorpusView view;
  view.recipe = recipe_;
  view.rows = rows_;
  view.dimension = dimension_;
  view.first_row = first_row_;
  view.panels = panels();
  view.single_rows = view.panels;
  if (rows_groups_.room() > 0) view.single_rows = {rows_groups_.data(), view.panels.group_count, 1};
  view.shadow = {halves_.data(), norms_.data(), tiles_.data(),
                 center_.data(), frame_.data(), shadow_stride(dimension_)};
  return view;
}

}  // namespace starling::gpu
