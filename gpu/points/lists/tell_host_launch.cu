// SPDX-License-Identifier: Apache-2.0
// Launches one thread that stores a value to the host: see tell_host_launch.hpp. Called by
// GpuEngine and ListChanges.
#include "starling/gpu/points/lists/tell_host_kernel.cuh"
#include "starling/gpu/points/lists/tell_host_launch.hpp"

namespace starling::gpu {

void tell_host_async(const ObjectChanges* changes, ObjectChanges* host, const CudaStream& stream) {
  tell_host_kernel<<<1, 1, 0, stream.get()>>>(changes, host);
  check_launch();
}

void tell_host_async(const ReportSize* size, ReportSize* host, const CudaStream& stream) {
  tell_host_kernel<<<1, 1, 0, stream.get()>>>(size, host);
  check_launch();
}

}  // namespace starling::gpu
