// SPDX-License-Identifier: Apache-2.0
// The VectorStore on an NVIDIA GPU: rows in panels in device memory, written in place. For a vector
// space, make_engine gives this store to a VectorEngine.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "starling/knn/vectors/store.hpp"

namespace starling::gpu {

struct VectorStoreOptions {
  std::uint32_t dimension = 1;
  Metric metric = Metric::l2;
  int device = 0;  ///< CUDA device number
  /// The most device memory that the store may take. A tick that needs more fails, and the state
  /// before the tick remains.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
};

/// The store takes device memory for the rows plus an eighth, for a second copy of the rows of the
/// largest apply, and for searches (see VectorWorkspace). Throws DeviceError (see
/// gpu/device/check.hpp) with a sentence if there is no such device.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::gpu
