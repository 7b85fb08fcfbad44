// SPDX-License-Identifier: Apache-2.0
// Packs the rows of a corpus into panels as they arrive, and makes the shadow of the rows: see
// device_vectors.hpp.
#include "starling/gpu/vectors/corpus/device_vectors.hpp"

#include <utility>

#include "starling/gpu/vectors/corpus/pack_launch.hpp"
#include "starling/gpu/vectors/corpus/shadow_launch.hpp"
#include "starling/knn/base/assert.hpp"

namespace starling::gpu {

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

DeviceVectors::DeviceVectors(DeviceMemory& memory, Metric metric, std::uint32_t rows,
                             std::uint32_t dimension, VectorRow first_row)
    : memory_(memory),
      recipe_(recipe_of(metric)),
      rows_(rows),
      dimension_(dimension),
      first_row_(first_row),
      groups_(memory),
      rows_groups_(memory),
      halves_(memory),
      norms_(memory),
      tiles_(memory),
      center_(memory),
      frame_(memory) {
  if (rows_ > 0)
    groups_ = DeviceBuffer<float4>(memory, packed_groups(rows_, panel_rows, dimension_));
}

void DeviceVectors::restart(Metric metric, VectorRow first_row) {
  recipe_ = recipe_of(metric);
  first_row_ = first_row;
  has_shadow_ = false;
}

std::uint32_t DeviceVectors::pack_next_async(RowUpload& upload, const CudaStream& stream) {
  const RowUpload::Piece piece = upload.next(stream);
  pack_async(piece.components, piece.count, dimension_, panel_rows,
             groups_.data() + packed_groups(piece.begin, panel_rows, dimension_), stream);
  upload.release(stream);
  return piece.begin + piece.count;
}

void DeviceVectors::make_shadow_async(Shadow shadow, const CudaStream& stream) {
  if (has_shadow_ || shadow == Shadow::none || rows_ == 0) return;
  const std::uint32_t stride = shadow_stride(dimension_);
  const std::size_t tiles = shadow_tiles(rows_);
  if (halves_.room() == 0) {
    // Members change only after the last allocation: if one throws, a later search must not find a
    // part of a shadow.
    DeviceBuffer<std::uint16_t> halves(memory_, tiles * shadow_tile_rows * stride);
    DeviceBuffer<ShadowNorms> norms(memory_, tiles * shadow_tile_rows);
    DeviceBuffer<ShadowTile> bounds(memory_, tiles);
    DeviceBuffer<float4> center(memory_, stride / 4);
    DeviceBuffer<ShadowFrame> frame(memory_, 1);
    DeviceBuffer<float4> rows_groups(memory_);
    if (shadow == Shadow::halves_and_rows)
      rows_groups = DeviceBuffer<float4>(memory_, packed_groups(rows_, 1, dimension_));
    halves_ = std::move(halves);
    norms_ = std::move(norms);
    tiles_ = std::move(bounds);
    center_ = std::move(center);
    frame_ = std::move(frame);
    rows_groups_ = std::move(rows_groups);
  }
  if (rows_groups_.room() > 0)
    unpack_async(panels(), 0, rows_, group_count_of(dimension_) * 4,
                 reinterpret_cast<float*>(rows_groups_.data()), stream);
  gpu::make_shadow_async(panels(), rows_, recipe_ == Recipe::product, shadow_view(), stream);
  has_shadow_ = true;
}

ShadowView DeviceVectors::shadow_view() const {
  return {halves_.data(), norms_.data(), tiles_.data(),
          center_.data(), frame_.data(), shadow_stride(dimension_)};
}

CorpusView CorpusView::part(std::uint32_t begin, std::uint32_t count) const {
  check_invariant(begin % shadow_tile_rows == 0 && begin + count <= rows,
                  "a part begins with a tile and ends in the corpus");
  CorpusView part = *this;
  part.rows = count;
  part.first_row += begin;
  // The rows of a tile are contiguous in all arrays, whatever the width of their panels.
  part.panels.groups += std::size_t{begin} * panels.group_count;
  part.single_rows.groups += std::size_t{begin} * single_rows.group_count;
  if (!has_shadow()) return part;
  part.shadow.halves += std::size_t{begin} * shadow.stride;
  part.shadow.norms += begin;
  part.shadow.tiles += begin / shadow_tile_rows;
  return part;
}

CorpusView DeviceVectors::view() const {
  CorpusView view;
  view.recipe = recipe_;
  view.rows = rows_;
  view.dimension = dimension_;
  view.first_row = first_row_;
  view.panels = panels();
  view.single_rows = view.panels;
  if (!has_shadow_) return view;
  if (rows_groups_.room() > 0) view.single_rows = {rows_groups_.data(), view.panels.group_count, 1};
  view.shadow = shadow_view();
  return view;
}

}  // namespace starling::gpu
