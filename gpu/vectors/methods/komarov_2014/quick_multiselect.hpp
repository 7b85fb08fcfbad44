// Quick multi-select of Komarov et al. by itself: of each row of a matrix the k smallest. The
// method multiselect uses it; a benchmark times it alone.
#pragma once

#include <cstdint>

#include "gpu/device/memory.hpp"
#include "gpu/device/stream.hpp"
#include "knn/words/metric.hpp"

namespace starling::gpu {

/// Who selects of a row (the paper has both: warps for many rows, blocks for few).
enum class SelectedBy : std::uint8_t { whoever_is_faster, warp, block };

struct RowSelection {
  const float* values = nullptr;  ///< [rows][stride]; no NaN. Infinity is a value like others.
  std::uint64_t stride = 0;       ///< columns or more
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t k = 1;          ///< 1 to vector_k_max; the paper's is 2 to 1024
  std::uint32_t first_row = 0;  ///< what column 0 is called
  /// [rows][k]: (value, column) in ascending order, {infinity, no_row} behind the last. Or null:
  VectorNeighbor* lists = nullptr;
  float* kth = nullptr;  ///< [rows]: the k-th value alone; infinity where there are fewer
  /// Where set, only rows of which counts[row] > count_max are selected of.
  const std::uint32_t* counts = nullptr;
  std::uint32_t count_max = 0;
  SelectedBy by = SelectedBy::whoever_is_faster;
};

/// Used by one stream at a time.
class QuickMultiselect {
 public:
  /// `bytes_max`: of the room that partitions are written to; less goes with fewer rows at once.
  QuickMultiselect(DeviceMemory& memory, std::uint64_t bytes_max)
      : memory_(memory), bytes_max_(bytes_max), partitions_(memory) {}

  /// Enqueued only, except that memory which grows waits for the device.
  void select_async(const RowSelection& selection, const Stream& stream);

 private:
  DeviceMemory& memory_;
  std::uint64_t bytes_max_;
  DeviceBuffer<std::uint64_t> partitions_;
};

}  // namespace starling::gpu
