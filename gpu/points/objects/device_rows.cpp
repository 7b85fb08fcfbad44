// SPDX-License-Identifier: Apache-2.0
// Copies births and object rows to the device: see device_rows.hpp. TickIntake copies the rows of
// ticks with many rows, on its own CUDA stream. GpuEngine copies imported rows, and rows that
// failed ticks could not apply.
#include "starling/gpu/points/objects/device_rows.hpp"

#include <span>

namespace starling::gpu {

void DeviceRows::copy_async(const Staging& staged, const CudaStream& stream) {
  births_.reserve(staged.births.size());
  objects_.reserve(staged.objects.size());
  copy_to_device_async(std::span<const ObjectBirth>(staged.births), births_, stream);
  copy_to_device_async(std::span<const ObjectRow>(staged.objects), objects_, stream);
  rows_ = {births_.data(), objects_.data()};
}

}  // namespace starling::gpu
