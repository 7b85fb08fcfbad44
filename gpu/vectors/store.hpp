// SPDX-License-Identifier: Apache-2.0
// The VectorStore on an NVIDIA GPU. It holds rows in panels in device memory, and writes changed
// rows in place. For a vector space, make_engine gives this store to a VectorEngine.
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
  /// The most device memory that the store may take. A tick that needs more fails, and the store
  /// keeps the state from before that tick.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
};

/// The store takes device memory for its rows and up to an eighth more, for up to three further
/// copies of the rows of the largest apply, and for searches (see VectorWorkspace). When the memory
/// for rows must grow, the old memory is freed only after the rows are copied. Throws DeviceError
/// (see gpu/device/check.hpp) if the device does not exist.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::gpu
