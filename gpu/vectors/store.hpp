// SPDX-License-Identifier: Apache-2.0
// The VectorStore on an NVIDIA GPU: rows in panels in device memory, written in place. make_engine
// gives one to a VectorEngine for a vector space.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "starling/knn/vectors/store.hpp"

namespace starling::gpu {

struct VectorStoreOptions {
  std::uint32_t dimension = 1;
  Metric metric = Metric::l2;
  int device = 0;  ///< its CUDA number
  /// The most device memory that it may take. A tick that needs more fails, and the old state
  /// stands.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
};

/// Takes device memory for the rows and an eighth more, for the rows of the largest apply once
/// more, and for searches (VectorWorkspace). Throws DeviceError (see gpu/device/check.hpp) with a
/// sentence if there is no such device.
std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options);

}  // namespace starling::gpu
