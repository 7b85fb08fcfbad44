// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of objects_kernel.cuh with one thread for each slot, birth or row: see
// objects_launch.hpp. Called by DeviceObjects.
#include "starling/gpu/points/objects/objects_kernel.cuh"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

void clear_objects_async(const ObjectsView& objects, Slot first, Slot end,
                         const CudaStream& stream) {
  if (first == end) return;
  clear_objects_kernel<<<blocks_for(end - first), block_threads, 0, stream.get()>>>(objects, first,
                                                                                    end);
  check_launch();
}

void apply_births_async(const ObjectBirth* births, std::uint32_t count, const ObjectsView& objects,
                        const CudaStream& stream) {
  if (count == 0) return;
  apply_births_kernel<<<blocks_for(count), block_threads, 0, stream.get()>>>(births, count,
                                                                             objects);
  check_launch();
}

void apply_rows_async(const ObjectRow* rows, std::uint32_t count, const ObjectsView& objects,
                      ObjectChanges* changes, const CudaStream& stream) {
  if (count == 0) return;
  apply_rows_kernel<<<blocks_for(count), block_threads, 0, stream.get()>>>(rows, count, objects,
                                                                           changes);
  check_launch();
}

void find_alive_async(const Slot* slots, std::uint32_t count, const ObjectsView& objects,
                      std::uint8_t* alive, const CudaStream& stream) {
  if (count == 0) return;
  find_alive_kernel<<<blocks_for(count), block_threads, 0, stream.get()>>>(slots, count, objects,
                                                                           alive);
  check_launch();
}

}  // namespace starling::gpu
