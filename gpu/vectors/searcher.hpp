// The VectorSearcher on an NVIDIA GPU: the same lists as every other, byte for byte.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "knn/vectors/searcher.hpp"

namespace starling::gpu {

struct VectorSearcherOptions {
  int device = 0;  ///< its CUDA number
  /// Of the device's memory that it may take. What does not fit goes in parts, one after the other;
  /// about 32 MiB is the least that any search gets along with.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  /// Whether many queries may go by the filter (docs/decisions/0007-vector-filter.md).
  bool may_filter = true;
};

/// Throws DeviceError (see check.hpp), with a sentence, where there is no such device.
std::unique_ptr<VectorSearcher> make_vector_searcher(const VectorSearcherOptions& options);
std::unique_ptr<VectorSearcher> make_vector_searcher(int device);

}  // namespace starling::gpu
