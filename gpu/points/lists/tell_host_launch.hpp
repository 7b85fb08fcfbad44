// SPDX-License-Identifier: Apache-2.0
// Launches a kernel that stores a few numbers to pinned memory. The host waits for these numbers in
// the middle of a tick. A copy would take longer, because it would wait until the last tick's
// reports have been copied from the device to the host.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

/// Enqueues storing `*changes`, or `*size`, to `*host`. The host may read the value after it has
/// waited for the CUDA stream.
void tell_host_async(const ObjectChanges* changes, ObjectChanges* host, const CudaStream& stream);
void tell_host_async(const ReportSize* size, ReportSize* host, const CudaStream& stream);

}  // namespace starling::gpu
