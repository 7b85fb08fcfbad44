// SPDX-License-Identifier: Apache-2.0
// A corpus on the device, and the view through which every search reads a corpus. A DeviceSearcher
// holds the whole corpus, or one part of it at a time.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/panels.hpp"
#include "starling/gpu/vectors/corpus/row_upload.hpp"
#include "starling/gpu/vectors/corpus/shadow.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Which copies of a corpus the device holds in addition to the panels. With these copies the
/// filter makes searches of many queries several times faster
/// (docs/decisions/0007-vector-filter.md).
enum class Shadow : std::uint8_t {
  none,
  halves,  ///< the rows in half precision: half the bytes of the panels
  /// The same as `halves`, plus a copy of the rows in which each row is contiguous. Single rows are
  /// read faster from this copy than from panels.
  halves_and_rows,
};

/// A corpus, or a part of it, as searches read it: rows [first_row, first_row + rows). Without a
/// shadow, a row whose components are all NaN is never a neighbour.
struct CorpusView {
  Recipe recipe = Recipe::squared_differences;
  std::uint32_t rows = 0;
  std::uint32_t dimension = 1;
  VectorRow first_row = 0;
  PanelsView panels;
  PanelsView single_rows;  ///< the same rows, for reads of single rows; in panels of any width
  ShadowView shadow;       ///< shadow.halves is null if there is no shadow

  bool has_shadow() const { return shadow.halves != nullptr; }
  /// Returns a view of `count` rows from row `begin` of this view on. `begin` must be a multiple of
  /// shadow_tile_rows.
  CorpusView part(std::uint32_t begin, std::uint32_t count) const;
};

/// Owns rows [first_row, first_row + rows) of a corpus, in panels.
class DeviceVectors {
 public:
  /// Returns the bytes of device memory that `rows` rows and their shadow take.
  static std::uint64_t bytes_for(std::uint32_t rows, std::uint32_t dimension, Shadow shadow);

  /// Allocates memory for `rows` rows; the rows are unset until they are packed. Throws the same
  /// errors as DeviceMemory.
  DeviceVectors(DeviceMemory& memory, Metric metric, std::uint32_t rows, std::uint32_t dimension,
                VectorRow first_row);

  std::uint32_t rows() const { return rows_; }
  /// Returns true if the memory is for exactly `rows` rows of `dimension` components.
  bool has_room_for(std::uint32_t rows, std::uint32_t dimension) const {
    return rows == rows_ && dimension == dimension_;
  }
  /// Forgets the rows and keeps the memory for another corpus of the same size.
  void restart(Metric metric, VectorRow first_row);

  /// Enqueues the packing of the next piece of `upload` and returns the number of rows packed so
  /// far. The pieces must come in order, from row 0 on.
  std::uint32_t pack_next_async(RowUpload& upload, const CudaStream& stream);

  /// Enqueues the kernels that make the shadow of all rows; does nothing if there is a shadow
  /// already. Throws the same errors as DeviceMemory.
  void make_shadow_async(Shadow shadow, const CudaStream& stream);

  PanelsView panels() const { return {groups_.data(), group_count_of(dimension_), panel_rows}; }
  CorpusView view() const;

 private:
  ShadowView shadow_view() const;

  DeviceMemory& memory_;
  Recipe recipe_;
  std::uint32_t rows_;
  std::uint32_t dimension_;
  VectorRow first_row_;
  bool has_shadow_ = false;
  DeviceBuffer<float4> groups_;
  DeviceBuffer<float4> rows_groups_;
  DeviceBuffer<std::uint16_t> halves_;
  DeviceBuffer<ShadowNorms> norms_;
  DeviceBuffer<ShadowTile> tiles_;
  DeviceBuffer<float4> center_;
  DeviceBuffer<ShadowFrame> frame_;
};

}  // namespace starling::gpu
