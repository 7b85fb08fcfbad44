// SPDX-License-Identifier: Apache-2.0
// Holds staged rows on the device from their copy until they are applied.
#pragma once

#include <cstddef>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

class DeviceRows {
 public:
  explicit DeviceRows(DeviceMemory& memory) : births_(memory), objects_(memory) {}

  /// Enqueues the copy of births and objects; queries stay on the host. Leave `staged` unchanged
  /// until the CUDA stream has done the copy. Throws DeviceError, or std::runtime_error if the
  /// memory's limit is reached. Part of the copy may be enqueued even if copy_async throws.
  void copy_async(const Staging& staged, const CudaStream& stream);

  const ObjectBirth* births() const { return births_.data(); }
  const ObjectRow* objects() const { return objects_.data(); }

 private:
  DeviceBuffer<ObjectBirth> births_;
  DeviceBuffer<ObjectRow> objects_;
};

/// The number of bytes that DeviceRows::copy_async copies.
inline std::size_t bytes_to_copy(const Staging& staged) {
  return staged.births.size() * sizeof(ObjectBirth) + staged.objects.size() * sizeof(ObjectRow);
}

}  // namespace starling::gpu
