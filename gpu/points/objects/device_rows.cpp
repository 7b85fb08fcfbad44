// SPDX-License-Identifier: Apache-2.0
// Copies births and object rows to the device: see device_rows.hpp. TickIntake copies the rows of
// ticks with many rows, on its own CUDA stream. GpuEngine copies imported rows, and rows that
// failed ticks could not apply.
#include "starling/gpu/points/objects/device_rows.hpp"

#include <algorithm>
#include <span>

namespace starling::gpu {

void DeviceRows::copy_part_async(const Part& part, const CudaStream& stream) {
  const std::size_t begin = make_room(part.end, part.expected, stream) ? part.begin : 0;
  copy_rows_async(part.rows, begin, part.end, stream);
}

void DeviceRows::copy_async(const Staging& staged, const CudaStream& stream) {
  const std::size_t rows = staged.objects.size();
  const std::size_t begin = make_room(rows, rows, stream) ? staged.taken_rows : 0;
  births_.reserve(staged.births.size());
  copy_to_device_async(std::span<const ObjectBirth>(staged.births), births_, stream);
  copy_rows_async(staged.objects.data(), begin, rows, stream);
  rows_ = {births_.data(), objects_.data()};
}

/// Makes room for at least `rows` rows. If the buffer is too small, waits for the CUDA stream,
/// allocates max(rows, expected) rows and returns false: the rows that were copied before are lost.
bool DeviceRows::make_room(std::size_t rows, std::size_t expected, const CudaStream& stream) {
  if (rows <= objects_.room()) return true;
  stream.wait();
  objects_.reserve(std::max(rows, expected));
  return false;
}

void DeviceRows::copy_rows_async(const ObjectRow* rows, std::size_t begin, std::size_t end,
                                 const CudaStream& stream) {
  if (begin == end) return;
  check(cudaMemcpyAsync(objects_.data() + begin, rows + begin, (end - begin) * sizeof(ObjectRow),
                        cudaMemcpyHostToDevice, stream.get()));
}

}  // namespace starling::gpu
