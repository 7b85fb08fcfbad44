// SPDX-License-Identifier: Apache-2.0
// Stores a few numbers, which the host waits for in the middle of a tick, to pinned memory. A copy
// would wait for the copy of the last tick's reports, which also goes from the device to the host.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

/// Enqueues one store. The host may read the value after it has waited for the CUDA stream.
void tell_host_async(const ObjectChanges* changes, ObjectChanges* host, const CudaStream& stream);
void tell_host_async(const ReportSize* size, ReportSize* host, const CudaStream& stream);

}  // namespace starling::gpu
