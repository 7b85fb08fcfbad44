// SPDX-License-Identifier: Apache-2.0
// Quick multi-select of Komarov et al. 2014: selects the k smallest values of each row of a matrix.
// The method multiselect uses it, and a benchmark times it alone.
#pragma once

#include <cstdint>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/knn/words/metric.hpp"

namespace starling::gpu {

/// Whether a warp or a block selects from a row. The paper uses warps for many rows and blocks for
/// few rows. A warp selects at most 512 values, so a block selects if k is larger.
enum class SelectedBy : std::uint8_t { whoever_is_faster, warp, block };

struct RowSelection {
  const float* values = nullptr;  ///< [rows][stride]; no NaN; infinity is allowed
  std::uint64_t stride = 0;       ///< at least `columns`
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t k = 1;          ///< 1 to vector_k_max; the paper's is 2 to 1024
  std::uint32_t first_row = 0;  ///< the row number of column 0 in `lists`
  /// [rows][k]: (value, row number) in ascending order; {infinity, no_row} after the last. null:
  /// `kth` is written instead.
  VectorNeighbor* lists = nullptr;
  float* kth = nullptr;  ///< [rows]: only the k-th value; infinity if there is none
  /// If set, only rows with counts[row] > count_max are selected from.
  const std::uint32_t* counts = nullptr;
  std::uint32_t count_max = 0;
  SelectedBy by = SelectedBy::whoever_is_faster;
};

/// Runs the selection and owns the memory of partitions. Only one CUDA stream may use it at a time.
class QuickMultiselect {
 public:
  /// `bytes_max` is the most memory for partitions. With less memory, fewer rows are selected from
  /// at once.
  QuickMultiselect(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory), bytes_max_(bytes_max), partitions_(memory) {}

  /// Enqueued only, but waits for the device if memory must grow.
  void select_async(const RowSelection& selection, const CudaStream& stream);

 private:
  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<std::uint64_t> partitions_;
};

}  // namespace starling::gpu
