// SPDX-License-Identifier: Apache-2.0
// DeviceRows says where kernels find a tick's staged rows until the rows are applied. Few rows stay
// in the pinned memory of the host. Many rows are copied to the device.
#pragma once

#include <cstddef>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

class DeviceRows {
 public:
  explicit DeviceRows(DeviceMemory& memory) : births_(memory), objects_(memory) {}

  /// Enqueues the copy of births, and of the object rows after the parts that copy_part_async has
  /// copied; queries stay on the host. Leave `staged` unchanged until the CUDA stream has done the
  /// copy. Throws DeviceError, or std::runtime_error if the memory's limit is reached. Part of the
  /// copy may be enqueued even if copy_async throws.
  void copy_async(const Staging& staged, const CudaStream& stream);

  /// Rows of a staging half that grows. Rows before `end` do not change any more.
  struct Part {
    const ObjectRow* rows = nullptr;  ///< all rows of the half
    std::size_t begin = 0;            ///< first row to copy; earlier rows are copied already
    std::size_t end = 0;
    std::size_t expected = 0;  ///< capacity of the half, in rows
  };
  /// Enqueues the copy of a part. Leave the rows unchanged until the CUDA stream has copied them.
  /// Throws what copy_async throws.
  void copy_part_async(const Part& part, const CudaStream& stream);

  /// Makes kernels read the rows in place, over the bus. `staged` must be in pinned memory. Leave
  /// it unchanged until the kernels have read it.
  void use(const Staging& staged) { rows_ = {staged.births.data(), staged.objects.data()}; }

  const ObjectBirth* births() const { return rows_.births; }
  const ObjectRow* objects() const { return rows_.objects; }

 private:
  bool make_room(std::size_t rows, std::size_t expected, const CudaStream& stream);
  void copy_rows_async(const ObjectRow* rows, std::size_t begin, std::size_t end,
                       const CudaStream& stream);

  struct Rows {
    const ObjectBirth* births = nullptr;
    const ObjectRow* objects = nullptr;
  };

  DeviceBuffer<ObjectBirth> births_;
  DeviceBuffer<ObjectRow> objects_;
  Rows rows_;
};

/// Returns how many bytes DeviceRows::copy_async copies.
inline std::size_t bytes_to_copy(const Staging& staged) {
  return staged.births.size() * sizeof(ObjectBirth) + staged.objects.size() * sizeof(ObjectRow);
}

}  // namespace starling::gpu
