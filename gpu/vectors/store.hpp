// The VectorStore on an NVIDIA GPU: rows in panels in its memory, written in place. make_engine
// gives one to a VectorEngine where the space is one of vectors.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "knn/vectors/store.hpp"

namespace starling::gpu {

struct VectorStoreOptions {
  std::uint32_t dimension = 1;
  Metric metric = Metric::l2;
  int device = 0;  ///< its CUDA number
  /// Of the device's memory that it may take; past it a tick fails and the old state stands.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
};

/// Device memory: the rows, with room for an eighth more, once more those of the largest apply, and
/// what searches need (VectorWorkspace). Throws DeviceError (see check.hpp), with a sentence, where
/// there is no such device.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::gpu
